internal import BLEProtocol

/// Explains why a connection was not made.
struct ConnectFailure {
    let adapter: LinuxAdapter
    let peer: BluetoothAddress

    private var object: String { peer.description }

    /// The error for a failure of `connect` or an earlier call: the kernel has not tried.
    func error(atOnce error: SystemError) -> BLEError {
        guard let facts = adapter.facts, facts.isUp else { return adapter.whyUnusable(for: "connect", object: object) }
        var failure: BLEError
        switch error {
        case .busy:
            failure = inUse
        case .connectionRefused:
            failure = .lowEnergyIsOff(adapter.name, operation: "connect", object: object)
        case .hostUnreachable:
            failure = adapter.whyUnknown(for: "connect", object: object)
        case .operationNotSupported:
            failure = BLEError(
                .notSupported,
                operation: "connect",
                object: object,
                cause: "\(adapter.name) doesn't support Low Energy",
                remedy: "Use an adapter with Bluetooth 4.0 or later."
            )
        case .addressFamilyNotSupported, .protocolNotSupported, .accessDenied, .notPermitted:
            return .noBluetooth(error, operation: "connect", object: object, on: adapter.kernel)
        default:
            failure = .system(error, call: "connect", operation: "connect", object: object)
        }
        failure.systemError = error.rawValue
        return failure
    }

    /// The error if another program has the link, or waits for the peer: the kernel lets one at a time do either.
    private var inUse: BLEError {
        let bluetoothd = Bluetoothd.presenceByProcesses(on: adapter.kernel)
        let others = (bluetoothd == .here ? "bluetoothd, or " : "") + "this program or another one"
        let disconnect = "\"bluetoothctl disconnect \(peer)\""
        let (cause, remedy): (String, String)
        if adapter.isConnected(to: peer) == false, !adapter.attempts.isEmpty {
            cause =
                "\(others) is waiting for it to be in range, and Linux lets only one program at a time wait for a "
                + "device"
            let end = "end the program that waits"
            remedy =
                "Check that the device is switched on, in range and advertising. To connect from here, "
                + (bluetoothd == .absent ? "\(end)." : "\(end), or run \(disconnect).")
        } else {
            cause = "the attribute channel to it is in use: \(others) is already connected to it"
            remedy =
                bluetoothd == .absent
                ? "Disconnect it there first, or end the program that has the link."
                : "Disconnect it there first: \(disconnect)."
        }
        return BLEError(.busy, operation: "connect", object: object, cause: cause, remedy: remedy)
    }

    /// The error for a failure that the kernel reported after it had tried.
    func error(later error: SystemError) -> BLEError {
        if !adapter.isUp {
            var failure = adapter.whyUnusable(for: "connect", object: object)
            failure.systemError = error.rawValue
            return failure
        }
        let reason = DisconnectReason(endOfSocket: error, hasReceived: false, isAdapterUp: true)
        let (cause, remedy) = words(for: error)
        var failure = BLEError(.connectionFailed, operation: "connect", object: object, cause: cause, remedy: remedy)
        failure.reason = reason
        failure.systemError = error.rawValue
        return failure
    }

    private func words(for error: SystemError) -> (cause: String, remedy: String) {
        switch error {
        case .timedOut, .hostDown:
            ("it advertises but did not answer the connection request", "Move closer to it, then try again.")
        case .notImplemented:
            ("the connection was lost before it was established", "Try again; move closer to it if this happens often.")
        // The kernel turns several HCI statuses into this error. Of these, a controller reports only one for an attempt
        // to connect: that it lacks resources. Source: kernel, `net/bluetooth/lib.c`, `bt_to_errno`.
        case .connectionRefused where adapter.isLinked:
            (
                "the controller of \(adapter.name) refused one more link: it may manage no more than it has",
                "Close another link, or join a second adapter: AdapterChoice.joined(_:)."
            )
        case .connectionRefused:
            (
                "the controller of \(adapter.name) refused to make a link",
                "Try again; if it happens each time, switch the adapter off and on: `Central.powerCycle()`."
            )
        case .tooManyLinks, .noMemory:
            (
                "\(adapter.name) has no free connection slot: its controller manages no more connections",
                "Close another link, or join a second adapter: AdapterChoice.joined(_:)."
            )
        // The controller's Connection Already Exists: the kernel has no such link, or it would have used that. With
        // `CAP_NET_RAW`, ``ForgottenLinks`` ends it after two seconds.
        case .already:
            (
                "the controller of \(adapter.name) still has a link to it that the kernel has forgotten",
                "Try again in a few seconds; if it happens each time, switch the adapter off and on: "
                    + "`Central.powerCycle()`."
            )
        case .connectionReset:
            (
                "it closed the connection immediately",
                "Check that it accepts connections from devices that are not bonded with it."
            )
        case .connectionAborted, .notConnected:
            ("another program on this host ended the attempt", "Try again.")
        case .accessDenied:
            (
                "authentication failed",
                "Remove the bond on both devices, here with Peripheral.unpair(), then pair again."
            )
        case .badExchange:
            ("it no longer has the keys of the bond", "Remove the bond with Peripheral.unpair(), then pair again.")
        case .busy:
            ("the controller is busy", "Try again in a moment.")
        default:
            ("the kernel gave up: \(error)", "Try again.")
        }
    }
}
