internal import BLEProtocol

/// Why an adapter was not reset.
extension BLEError {
    /// It is no USB device.
    static func nothingToReset(_ adapter: String, _ bus: USBDevice.OtherBus) -> BLEError {
        let way = bus.name.map { "its bus is \($0)" } ?? "it is a virtual one, which a program has made"
        let remedy: String
        if bus.name == nil {
            remedy = "Start the program again that has made it."
        } else if let bus = bus.name, bus == "tty" {
            remedy = "Start the program again that has attached it: hciattach, btattach."
        } else if let name = bus.name, let device = bus.device, let driver = bus.driver {
            let folder = "/sys/bus/\(name)/drivers/\(driver)"
            remedy =
                "Bind its driver anew: \"echo \(device) | sudo tee \(folder)/unbind\", then the same into \(folder)/bind."
        } else {
            remedy = "Load its driver anew with modprobe, or start the machine again."
        }
        return BLEError(
            .notSupported,
            operation: "reset",
            object: adapter,
            cause: "it is no USB device, so there is nothing to reset: \(way)",
            remedy: remedy
        )
    }

    /// The system didn't let this program order it, or the device has refused.
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
                cause: "this program may not write to \(node): \(error)",
                remedy: "Run it as root; or write the line SUBSYSTEM==\"usb\", \(which)GROUP=\"bluetooth\", "
                    + "MODE=\"0660\" into /etc/udev/rules.d/70-bluetooth-reset.rules, run \"sudo groupadd -f bluetooth\" and \"sudo udevadm "
                    + "control --reload && sudo udevadm trigger -s usb\", and add the program's user to that group."
            )
        case .noEntry:
            failure = BLEError(
                .systemFailure,
                operation: "reset",
                object: adapter,
                cause: "there is no \(node)",
                remedy: "A container needs the host's: docker run -v /dev/bus/usb:/dev/bus/usb "
                    + "--device-cgroup-rule='c 189:* rmw'."
            )
        default:
            failure = BLEError(
                .systemFailure,
                operation: "reset",
                object: adapter,
                cause: "the reset of \(node) failed: \(error)",
                remedy: "Unplug it and plug it in again."
            )
        }
        failure.systemError = error.rawValue
        return failure
    }

    /// It went away and is away.
    static func neverCameBack(_ adapter: String, after time: Duration) -> BLEError {
        BLEError(
            .adapterNotFound,
            operation: "reset",
            object: adapter,
            cause: "it went away and has not come back within \(time)",
            remedy: "Unplug it and plug it in again; \"sudo dmesg\" tells what the kernel makes of it."
        )
    }
}
