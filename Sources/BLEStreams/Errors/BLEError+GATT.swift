import BLEProtocol
import BLERadio

extension BLEError {
    /// A failure of a procedure, with what was tried and on what.
    ///
    /// - Parameters:
    ///   - security: how the link is secured, which says what is missing where that is not enough.
    ///   - wasRaised: whether the link was made more secure for it, and that did not help.
    init(
        _ failure: GATTFailure,
        operation: String,
        object: String,
        security: @autoclosure () -> LinkSecurity = .none,
        wasRaised: Bool = false
    ) {
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
            if error.isOfSecurity { explain(error, security(), wasRaised) }
        case .disconnected(let reason):
            self = .linkEnded(reason, operation: operation, object: object)
        case .timedOut:
            self.init(
                .timedOut,
                operation: operation,
                object: object,
                cause: "the peer did not answer within 30 s, so the link was closed, as the specification asks",
                remedy: "Connect again. If it happens again, the peer's firmware is at fault: report it to its maker."
            )
            elapsed = .seconds(30)
            reason = DisconnectReason(.transactionTimeout)
            isFinal = true
        case .databaseChanged:
            self = .servicesChanged(operation, object)
        case .valueTooLong(let count, let limit):
            self = .tooLong(count, limit: limit, operation: operation, object: object)
        case .cancelled:
            self.init(.ended, operation: operation, object: object, cause: "it was taken back before it was done")
        default:
            self.init(
                .protocolViolation,
                operation: operation,
                object: object,
                cause: "\(failure)",
                remedy: "The peer does not follow the Attribute Protocol: report this to its maker."
            )
        }
    }

    /// A value that can't be written in the way that was asked for; nothing was sent.
    static func tooLong(_ count: Int, limit: Int, operation: String, object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: operation,
            object: object,
            cause: "the value has \(count) octets, and \(limit) is the most that can be written this way",
            remedy: limit < ATTLimits.maximumValueLength ? "Write it with response, or in parts." : "Write it in parts."
        )
    }

    static func linkEnded(_ reason: DisconnectReason, operation: String, object: String) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: operation,
            object: object,
            cause: "the link ended: \(reason)",
            remedy: "Connect again; BLEStream.retry(_:when:) and sessions do so by themselves."
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
            remedy: "Find it again with Link.discover(), and name it by its UUID where you can."
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
        case .insufficientAuthentication, .insufficientEncryption:
            "Pair with the peripheral first, with Link.pair(); or say once who answers, with Central.open(pairing:), "
                + "Peripheral.allowPairing(_:) or withLink(pairing:), and it is done when it is needed."
        case .encryptionKeySizeTooShort: "Pair with the peripheral again; both sides must allow keys of 16 octets."
        case .insufficientAuthorization:
            "The peripheral grants access in a way of its own, which pairing is not: its documentation tells which."
        case .readNotPermitted: "This attribute can't be read."
        case .writeNotPermitted: "This attribute can't be written."
        case .invalidHandle: "Check the handle: Link.discover() finds those that the peripheral has now."
        case .databaseOutOfSync: "The peripheral's services have changed: discover them again."
        case .invalidAttributeValueLength: "Write as many octets as the specification of the characteristic asks for."
        case .insufficientResources, .prepareQueueFull: "Try again later, or with a smaller value."
        default: "The peripheral says no more than that: its documentation or its log may tell why."
        }
    }

    /// Says what is missing on a link that is encrypted already: to pair once more in the same way gains nothing.
    private mutating func explain(_ error: ATTError, _ security: LinkSecurity, _ wasRaised: Bool) {
        guard security.isEncrypted else { return }
        if wasRaised { cause += "; the link was made \(security.level ?? .encrypted) for it, which was not enough" }
        switch error {
        case .encryptionKeySizeTooShort:
            cause += "; the link's key has \(security.keySize) octets"
        case .insufficientAuthentication where !security.isAuthenticated:
            cause +=
                "; the link is encrypted, with keys that were made without a passkey, and it asks for such with one"
            remedy =
                "Make the link authenticated, with Link.secure(to: .authenticated, answers:); or say once who answers, "
                + "with Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:)."
        default:
            cause +=
                "; the link is \(security.level ?? .encrypted), and it asks for more: LE Secure Connections, or a longer "
                + "key"
            remedy = "Remove the bond with Peripheral.unpair() and pair again, where both sides can do that."
        }
    }

    /// The same where the link was to be made more secure, and couldn't be.
    func notRaised(_ error: BLEError) -> BLEError {
        if error.code == .disconnected, let reason = error.reason {
            return .linkEnded(reason, operation: operation, object: object)
        }
        var failure = BLEError(error.code, operation: operation, object: object, cause: cause, remedy: error.remedy)
        failure.cause +=
            ". The link could not be made secure enough (\(error.operation) \(error.object)): \(error.cause)"
        failure.attError = attError
        failure.pairingFailure = error.pairingFailure
        failure.isFinal = error.isFinal
        return failure
    }
}

extension ATTError {
    /// Whether the link is not secure enough.
    var isOfSecurity: Bool {
        switch self {
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort: true
        default: false
        }
    }
}
