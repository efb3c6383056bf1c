import BLEProtocol

extension BLEError {
    /// A failure of a procedure, with what was tried and on what.
    init(_ failure: GATTFailure, operation: String, object: String) {
        switch failure {
        case .attribute(let error, let handle):
            self.init(
                .attributeError,
                operation: operation,
                object: object,
                cause: "the peer answered \(error) for handle \(handle.hexadecimal)",
                remedy: Self.remedy(for: error)
            )
            attError = error
        case .disconnected(let reason):
            self = .linkEnded(reason, operation: operation, object: object)
        case .timedOut:
            self.init(
                .timedOut,
                operation: operation,
                object: object,
                cause: "the peer did not answer within 30 s, so the link was closed, as the specification asks",
                remedy: "Connect again; if it happens again the peer's firmware has to be looked at."
            )
            elapsed = .seconds(30)
            reason = DisconnectReason(.transactionTimeout)
            isFinal = true
        case .databaseChanged:
            self = .servicesChanged(operation, object)
        case .cancelled:
            self.init(.ended, operation: operation, object: object, cause: "it was taken back before it was done")
        default:
            self.init(
                .protocolViolation,
                operation: operation,
                object: object,
                cause: "\(failure)",
                remedy: "The peer does not follow the Attribute Protocol; its firmware has to be looked at."
            )
        }
    }

    static func linkEnded(_ reason: DisconnectReason, operation: String, object: String) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: operation,
            object: object,
            cause: "the link ended: \(reason)",
            remedy: "Connect again; `retry` or `ble notify --reconnect` do it by themselves."
        )
        error.reason = reason
        error.systemError = reason.systemError
        error.isFinal = true
        return error
    }

    static func servicesChanged(_ operation: String, _ object: String) -> BLEError {
        BLEError(
            .servicesChanged,
            operation: operation,
            object: object,
            cause: "the peripheral's services changed, and what was meant is gone or can't be told for sure",
            remedy: "Look for it again with Link.discover(), and name it by its UUID where you can."
        )
    }

    static func cannotSend(_ characteristic: Characteristic, of peripheral: BluetoothAddress) -> BLEError {
        BLEError(
            .notSupported,
            operation: "notifications",
            object: "of \(characteristic.uuid) of \(peripheral)",
            cause: "the characteristic can neither notify nor indicate; it has: \(characteristic.properties)",
            remedy: "Read it instead."
        )
    }

    private static func remedy(for error: ATTError) -> String {
        switch error {
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort:
            "Pair with the peripheral first."
        case .insufficientAuthorization: "The peripheral must grant access: look for how it is authorized."
        case .readNotPermitted: "This attribute can't be read."
        case .writeNotPermitted: "This attribute can't be written."
        case .invalidHandle, .databaseOutOfSync: "The peripheral's services have changed: discover them again."
        case .invalidAttributeValueLength: "Look up the length that the characteristic asks for."
        case .insufficientResources, .prepareQueueFull: "Try again later, or with a smaller value."
        default: ""
        }
    }
}
