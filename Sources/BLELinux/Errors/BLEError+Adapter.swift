internal import BLEProtocol
internal import BLERadio
internal import Glibc

/// Obstacles to using an adapter at all.
extension BLEError {
    /// The kernel gave no Bluetooth socket; this reads files, to learn whether it has Bluetooth all the same.
    static func noBluetooth(_ error: SystemError, operation: String, object: String, on kernel: Kernel) -> BLEError {
        noBluetooth(error, operation: operation, object: object, hidden: HiddenBluetooth(error, on: kernel))
    }

    /// The kernel gave no Bluetooth socket, or lists no adapters on it.
    ///
    /// - Parameter hidden: that the kernel has Bluetooth all the same, if it shows that.
    static func noBluetooth(
        _ error: SystemError,
        call: String = "socket",
        operation: String,
        object: String,
        hidden: HiddenBluetooth?
    ) -> BLEError {
        var failure: BLEError
        switch error {
        case .addressFamilyNotSupported, .protocolNotSupported:
            failure = BLEError(
                .unsupportedSystem,
                operation: operation,
                object: object,
                cause: "\(hidden?.cause ?? "this system has no Bluetooth"): \(error)",
                remedy: hidden?.remedy
                    ?? "Load the kernel's module with \"sudo modprobe bluetooth\"; a container needs the host's network "
                    + "(docker run --network=host), a service AF_BLUETOOTH in RestrictAddressFamilies."
            )
        case .accessDenied, .notPermitted:
            failure = BLEError(
                .permissionDenied,
                operation: operation,
                object: object,
                cause: "this system doesn't let the program open Bluetooth sockets: \(error)",
                remedy: "A service needs AF_BLUETOOTH in RestrictAddressFamilies; a container needs a seccomp profile "
                    + "that allows it."
            )
        default:
            failure = .system(error, call: call, operation: operation, object: object)
        }
        failure.systemError = error.rawValue
        return failure
    }

    static func malformedAdapterName(_ name: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "open",
            object: "\"\(name)\"",
            cause: "this is not the name of an adapter",
            remedy: "Adapters are called hci0, hci1 and so on; \"ls /sys/class/bluetooth\" lists them."
        )
    }

    /// - Parameter cut: the machine's switch that may be the reason.
    static func noAdapter(operation: String, object: String, cut: RadioSwitches.Cut? = nil) -> BLEError {
        if let cut { return adapterCut(by: cut, operation: operation, object: object) }
        return BLEError(
            .adapterNotFound,
            operation: operation,
            object: object,
            cause: "this machine has no Bluetooth adapter",
            remedy: "Plug one in, or use the simulated radio. If one is plugged in, its firmware may be missing: "
                + "search the output of \"sudo dmesg\" for \"Bluetooth\"."
        )
    }

    private static func adapterCut(by cut: RadioSwitches.Cut, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterBlocked,
            operation: operation,
            object: object,
            cause: "this machine has no Bluetooth adapter while its switch \(cut.name) is off",
            remedy: lifting(isHard: cut.block == .hard)
        )
    }

    static func adapterAbsent(
        _ name: String,
        others: [String],
        operation: String,
        object: String,
        cut: @autoclosure () -> RadioSwitches.Cut? = nil
    ) -> BLEError {
        if others.isEmpty { return .noAdapter(operation: operation, object: object, cut: cut()) }
        return BLEError(
            .adapterNotFound,
            operation: operation,
            object: object,
            cause: "there is no adapter \(name)",
            remedy: "Use one that this machine has: \(others.joined(separator: ", "))."
        )
    }

    /// An adapter that is there again by the time that this is said.
    static func adapterWasRemoved(_ name: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterNotFound,
            operation: operation,
            object: object,
            cause: "\(name) was unplugged or reset, and is there again",
            remedy: "Try again once it is on."
        )
    }

    static func adapterLacksLowEnergy(_ name: String, operation: String, object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "the adapter \(name) doesn't support Bluetooth Low Energy",
            remedy: "Use an adapter with Bluetooth 4.0 or later."
        )
    }

    static func adapterHasTwin(
        _ name: String,
        _ other: String,
        _ address: BluetoothAddress,
        operation: String,
        object: String
    ) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "\(other) has the address \(address) of \(name), and Linux would connect through \(other)",
            remedy: "Switch \(other) off, unplug it, or use it in place of \(name)."
        )
    }

    static func adapterIsPassedOver(_ name: String, _ other: String, operation: String, object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "\(name) has no public address for Linux to choose it by, and Linux would connect through \(other)",
            remedy: "Switch \(other) off, unplug it, or use it in place of \(name)."
        )
    }

    static func adapterNotReady(_ name: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterNotReady,
            operation: operation,
            object: object,
            cause: "the adapter \(name) is starting",
            remedy: "Wait until it has started; if that takes more than a few seconds, unplug it and plug it in again."
        )
    }

    static func adapterUnconfigured(_ name: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterNotReady,
            operation: operation,
            object: object,
            cause: "the adapter \(name) has no address yet, or is otherwise unconfigured",
            remedy: "Wait for a boot service that may configure it. To see what is missing, run "
                + "\"btmgmt --index \(name) config\"; for an address, "
                + "\"sudo btmgmt --index \(name) public-addr ADDRESS\"."
        )
    }

    static func adapterPoweredOff(_ name: String, operation: String, object: String) -> BLEError {
        if SwitchedHere.contains(name) {
            return .switchedOffHere("the adapter \(name)", operation: operation, object: object)
        }
        return BLEError(
            .adapterPoweredOff,
            operation: operation,
            object: object,
            cause: "the adapter \(name) is switched off",
            // bluetoothctl means the default adapter of bluetoothd.
            remedy: "Switch it on with `Central.setPowered(true)`, or \"bluetoothctl power on\"; beside other "
                + "adapters, \"sudo btmgmt --index \(name) power on\"."
        )
    }

    /// The kernel shows the adapter as on, but takes no commands for it. Source: kernel, `net/bluetooth/hci_sock.c`,
    /// `hci_sock_bind`, `HCI_CHANNEL_USER`.
    static func adapterTaken(_ name: String, operation: String, object: String) -> BLEError {
        BLEError(
            .busy,
            operation: operation,
            object: object,
            cause: "another program has \(name) for itself, through the kernel's user channel",
            remedy: "End that program, such as one that uses Bumble or noble, then switch \(name) on with "
                + "`Central.setPowered(true)`; or use another adapter."
        )
    }

    /// An adapter that is on refuses everything of Low Energy.
    static func lowEnergyIsOff(_ name: String, operation: String, object: String) -> BLEError {
        var error = BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "Low Energy is switched off on \(name)",
            remedy: "Switch it on with `Central.setPowered(true)`, or \"sudo btmgmt --index \(name) le on\"."
        )
        // As an adapter that is off: once it is switched on, the same operation succeeds.
        error.isFinal = false
        return error
    }

    static func staysOff(_ name: String) -> BLEError {
        BLEError(
            .adapterPoweredOff,
            operation: "switch on",
            object: name,
            cause: "the kernel reports that it has switched \(name) on, but \(name) stays off",
            remedy: "Reset it with `Central.reset()`, or unplug it and plug it in again."
        )
    }

    static func adapterBlocked(
        _ name: String,
        by block: RadioSwitches.Block?,
        operation: String,
        object: String
    ) -> BLEError {
        let isHard = block == .hard
        return BLEError(
            .adapterBlocked,
            operation: operation,
            object: object,
            cause: isHard ? "a switch on the machine keeps \(name) off" : "rfkill keeps \(name) off",
            remedy: lifting(isHard: isHard)
        )
    }

    /// How a block is lifted; the adapter is off then.
    private static func lifting(isHard: Bool) -> String {
        (isHard ? "Turn on the machine's radio switch or leave flight mode" : "Run \"sudo rfkill unblock bluetooth\"")
            + ", then switch the adapter on with `Central.setPowered(true)`."
    }

    /// A system call failed for no more specific reason.
    static func system(_ error: SystemError, call: String, operation: String, object: String) -> BLEError {
        var failure = BLEError(
            .systemFailure,
            operation: operation,
            object: object,
            cause: "\(call) failed: \(error)",
            remedy: error.remedy
        )
        failure.systemError = error.rawValue
        return failure
    }
}
