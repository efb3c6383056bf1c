internal import BLEProtocol

extension BLEError {
    /// The error of an operation on an adapter that is not ready; `nil` if it is ready.
    init?(unavailable state: AdapterInfo.State, adapter: String, operation: String, peer: BluetoothAddress?) {
        let object = peer.map { "\($0)" } ?? adapter
        switch state {
        case .poweredOn:
            return nil
        case .absent:
            self.init(
                .adapterNotFound,
                operation: operation,
                object: object,
                cause: "the simulated adapter \(adapter) is unplugged",
                remedy: "Call plugIn() on it."
            )
        case .poweredOff:
            self.init(
                .adapterPoweredOff,
                operation: operation,
                object: object,
                cause: "the simulated adapter \(adapter) is switched off",
                remedy: "Call powerOn() on it."
            )
        case .blocked:
            self.init(
                .adapterBlocked,
                operation: operation,
                object: object,
                cause: "the simulated adapter \(adapter) is blocked",
                remedy: "Call powerOn() on it."
            )
        case .unknown, .resetting, .unauthorized, .unsupported:
            let error = state.error(operation: operation, object: object)
            self.init(
                error?.code ?? .systemFailure,
                operation: operation,
                object: object,
                cause: state == .unknown
                    ? "the state of the simulated adapter \(adapter) is not known yet"
                    : "the simulated adapter \(adapter) is \(state.words)",
                remedy: "Call powerOn() on it."
            )
        }
    }

    static func alreadyListening(on adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "listen",
            object: adapter,
            cause: "another peripheral is already served on the simulated adapter \(adapter)",
            remedy: "Offer all services with one LocalPeripheral, or run the other one on another adapter."
        )
    }

    static func scanIsUnderWay(on adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "scan",
            object: adapter,
            cause: "a scan is already under way on this adapter",
            remedy: "Cancel it, or share its reports."
        )
    }

    static func isConnected(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .busy,
            operation: "connect",
            object: "\(peer)",
            cause: "this host is already connected to the peer",
            remedy: "Use that link, or close it first."
        )
    }

    static func isConnecting(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .busy,
            operation: "connect",
            object: "\(peer)",
            cause: "an attempt to connect to the peer is already under way",
            remedy: "Wait for it, or cancel it."
        )
    }

    static func connectionLimitExceeded(_ adapter: String, peer: BluetoothAddress) -> BLEError {
        var error = BLEError(
            .connectionFailed,
            operation: "connect",
            object: "\(peer)",
            cause: "the simulated adapter \(adapter) has no free connection slot",
            remedy: "Close another link, or join a second adapter: AdapterChoice.joined(_:)."
        )
        error.reason = DisconnectReason(.other, hciStatus: 0x09)
        return error
    }

    static func refused(by peer: BluetoothAddress, because reason: DisconnectReason.Kind) -> BLEError {
        var error = BLEError(
            .connectionFailed,
            operation: "connect",
            object: "\(peer)",
            cause: "\(reason.words), as the air's fault plan demands",
            remedy: "Try again."
        )
        error.reason = DisconnectReason(onAir: reason)
        return error
    }
}
