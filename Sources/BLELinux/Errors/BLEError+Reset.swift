internal import BLEProtocol

/// Why an adapter was not reset.
extension BLEError {
    /// The adapter is not a USB device.
    static func nothingToReset(_ adapter: String, _ bus: USBDevice.OtherBus) -> BLEError {
        let way = bus.name.map { "its bus is \($0)" } ?? "it is a virtual controller made by a program"
        let remedy: String
        if bus.name == nil {
            remedy = "Restart the program that made it."
        } else if let bus = bus.name, bus == "tty" {
            remedy = "Restart the program that attached it: hciattach, btattach."
        } else if let name = bus.name, let device = bus.device, let driver = bus.driver {
            let folder = "/sys/bus/\(name)/drivers/\(driver)"
            remedy =
                "Rebind its driver: \"echo \(device) | sudo tee \(folder)/unbind\", then the same into \(folder)/bind."
        } else {
            remedy = "Reload its driver with modprobe, or restart the machine."
        }
        return BLEError(
            .notSupported,
            operation: "reset",
            object: adapter,
            cause: "only USB devices can be reset, and this is not one: \(way)",
            remedy: remedy
        )
    }

    /// The system didn't let this program reset it, or the device refused.
    static func resetRefused(_ adapter: String, _ device: USBDevice?, _ error: SystemError) -> BLEError {
        let node = device?.node ?? "the USB device"
        var failure: BLEError
        switch error {
        case .accessDenied, .notPermitted:
            let attributes = [("idVendor", device?.vendor), ("idProduct", device?.product)]
            let which = attributes.compactMap { name, value in value.map { "ATTR{\(name)}==\"\($0)\", " } }.joined()
            failure = BLEError(
                .permissionDenied,
                operation: "reset",
                object: adapter,
                cause: "this program has no permission to write to \(node): \(error)",
                remedy: "Run it as root; or write the line SUBSYSTEM==\"usb\", \(which)GROUP=\"bluetooth\", "
                    + "MODE=\"0660\" into /etc/udev/rules.d/70-bluetooth-reset.rules, run \"sudo groupadd -f "
                    + "bluetooth\" and \"sudo udevadm control --reload && sudo udevadm trigger -s usb\", and add the "
                    + "program's user to that group."
            )
        case .noEntry:
            failure = BLEError(
                .systemFailure,
                operation: "reset",
                object: adapter,
                cause: "\(node) does not exist",
                remedy: "In a container, mount the host's USB devices: docker run -v /dev/bus/usb:/dev/bus/usb "
                    + "--device-cgroup-rule='c 189:* rmw'."
            )
        default:
            failure = BLEError(
                .systemFailure,
                operation: "reset",
                object: adapter,
                cause: "the reset of \(node) failed: \(error)",
                // Nothing was reset if there was no descriptor or thread for it.
                remedy: error.isShortage || error == .wouldBlock ? error.remedy : "Unplug it and plug it in again."
            )
        }
        failure.systemError = error.rawValue
        return failure
    }

    /// The system was told to reset it, and doesn't say that it has.
    static func resetStuck(_ adapter: String, _ device: USBDevice?, after time: Duration) -> BLEError {
        BLEError(
            .timedOut,
            operation: "reset",
            object: adapter,
            cause: "the kernel has not finished the reset of \(device?.node ?? "the USB device") within \(time): its "
                + "driver is stuck",
            remedy: "Unplug it and plug it in again; if that doesn't help, restart the machine."
        )
    }

    /// The kernel was told to close it, which it does for a controller that can't be switched off, and waits for its
    /// driver.
    static func closingStuck(_ adapter: String, after time: Duration) -> BLEError {
        BLEError(
            .timedOut,
            operation: "switch off",
            object: adapter,
            cause: "the kernel has not finished closing it within \(time): its driver is stuck",
            remedy: "Unplug it and plug it in again; if that doesn't help, restart the machine."
        )
    }

    /// The adapter went away and did not come back.
    static func neverCameBack(_ adapter: String, after time: Duration) -> BLEError {
        BLEError(
            .adapterNotFound,
            operation: "reset",
            object: adapter,
            cause: "it disappeared and did not come back within \(time)",
            remedy: "Unplug it and plug it in again; \"sudo dmesg\" shows the kernel's messages."
        )
    }
}
