import BLEProtocol

extension BLEError {
    /// A failure of a procedure, with the operation and its object.
    ///
    /// - Parameters:
    ///   - security: the protection of the link, which shows what is missing if it isn't enough.
    ///   - wasRaised: whether the link was made more secure for it, without success.
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
                // A peer that names no attribute says 0.
                cause: "the peer answered \(error)" + (handle == 0 ? "" : " for handle \(handle.hexadecimal)"),
                remedy: error == .requestNotSupported && handle == 0
                    ? Self.remedy(forLacking: operation) : Self.remedy(for: error)
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
                cause: "the peer did not answer within 30 s, so the link was closed, as the specification requires",
                remedy: "Connect again. If it happens again, report the firmware's fault to the peer's manufacturer."
            )
            elapsed = .seconds(30)
            reason = DisconnectReason(.transactionTimeout)
            isFinal = true
        case .databaseChanged:
            self = .servicesChanged(operation, object)
        case .valueTooLong(let count, let limit):
            self = .tooLong(count, limit: limit, operation: operation, object: object)
        case .cancelled:
            self.init(.ended, operation: operation, object: object, cause: "it was cancelled before it was done")
        default:
            self.init(
                .protocolViolation,
                operation: operation,
                object: object,
                cause: "\(failure)",
                remedy: "Report this to the peer's manufacturer: it violates the Attribute Protocol."
            )
        }
    }

    /// A value that is too long for the requested kind of write; nothing was sent.
    static func tooLong(_ count: Int, limit: Int, operation: String, object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: operation,
            object: object,
            cause: "the value has \(count) octets, and at most \(limit) can be written this way",
            remedy: limit < ATTLimits.maximumValueLength ? "Write it with response, or in parts." : "Write it in parts."
        )
    }

    /// The time of an operation is over; the cause is what it waited for.
    static func tookTooLong(
        _ operation: String,
        object: String,
        after limit: Duration,
        waitingFor delay: LinkMachine.Delay
    ) -> BLEError {
        let (missing, remedy): (String, String?) =
            switch delay {
            case .turn:
                (
                    "another user's exclusive use of the link did not end",
                    "Let the command, or the closure of Link.exclusively(_:), end first, or allow more time."
                )
            case .security:
                (
                    "encrypting the link, or pairing, did not end",
                    remedyOfLongPairing
                )
            case .room:
                (
                    "the radio did not take it",
                    "Write less often, since the peer takes values slowly or is out of range, or allow more time."
                )
            case .answer: ("no answer came", nil)
            }
        var error = timedOut(operation, object: object, after: limit, waitingFor: missing)
        if let remedy { error.remedy = remedy }
        return error
    }

    static func linkEnded(_ reason: DisconnectReason, operation: String, object: String) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: operation,
            object: object,
            cause: "the link ended: \(reason)",
            remedy: "Connect again; BLEStream.retry(_:when:) and sessions do so automatically."
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
            cause: "the peripheral's services changed, and the attribute is gone or can't be identified with certainty",
            remedy: "Find it again with Link.discover(), and address it by its UUID if possible."
        )
    }

    /// Why values may be missing in a stream that goes on with a characteristic in the place of the former one.
    static func subscriptionMoved(_ object: String) -> BLEError {
        BLEError(
            .servicesChanged,
            operation: "notifications",
            object: object,
            cause: "the peripheral's services changed, and the subscription was made anew: values may be missing",
            remedy: "Treat the next value as the beginning of a message: one that was under way was cut off."
        )
    }

    /// Why values may be missing in a stream that goes on as it was.
    static func valuesWithheld(_ object: String) -> BLEError {
        BLEError(
            .servicesChanged,
            operation: "notifications",
            object: object,
            cause: "the peripheral's services changed, and it may have sent no values until this side learned of that",
            remedy: "Read the value if the latest one matters. Have a message that was under way sent again."
        )
    }

    static func cannotSend(_ characteristic: Characteristic, of peripheral: BluetoothAddress) -> BLEError {
        BLEError(
            .notSupported,
            operation: "notifications",
            object: "of \(characteristic.uuid) of \(peripheral)",
            cause: "the characteristic can neither notify nor indicate; its properties: \(characteristic.properties)",
            remedy: characteristic.properties.contains(.read) ? "Read it instead." : "Use another characteristic."
        )
    }

    private static func remedy(for error: ATTError) -> String {
        switch error {
        case .insufficientAuthentication, .insufficientEncryption:
            "Pair with the peripheral first, with Link.pair(); or pass the answers once to Central.open(pairing:), "
                + "Peripheral.allowPairing(_:) or withLink(pairing:), and the library pairs when needed."
        case .encryptionKeySizeTooShort: "Pair with the peripheral again; both sides must allow keys of 16 octets."
        case .insufficientAuthorization:
            "Consult the peripheral's documentation: it grants access by a procedure of its own, not by pairing."
        case .readNotPermitted: "Use another attribute: this one can't be read."
        case .writeNotPermitted: "Use another attribute: this one can't be written."
        // BlueZ answers so where a peripheral's application does not support it for one characteristic.
        case .requestNotSupported:
            "Consult the peripheral's documentation or its log: it does not support this for the attribute."
        case .invalidHandle: "Check the handle: Link.discover() finds those that the peripheral has now."
        case .databaseOutOfSync: "The peripheral's services have changed: discover them again."
        case .invalidAttributeValueLength: "Write as many octets as the specification of the characteristic requires."
        case .valueNotAllowed, .outOfRange: "Write a value that the specification of the characteristic allows."
        case .cccdImproperlyConfigured:
            "Subscribe first to the characteristics with which the peripheral answers, as its profile requires."
        case .procedureAlreadyInProgress:
            "Wait until the peripheral's procedure has ended, or end it as the profile describes; then try again."
        case .insufficientResources, .prepareQueueFull: "Try again later, or with a smaller value."
        default: "Consult the peripheral's documentation or its log: it reports no further reason."
        }
    }

    /// What to do where the peer lacks a request for which there is no other way.
    static let remedyForLackingRequest = "Consult the peripheral's documentation: it lacks a request that this needs."

    /// What to do instead of an operation for which the peer lacks a request.
    private static func remedy(forLacking operation: String) -> String {
        switch operation {
        case "write":
            "The peripheral may take no value in parts: write at most MTU - 3 octets at once, and not reliably."
        case "read": "Read each value by itself: the peripheral lacks the request for all of a type, or for several."
        case "discovery": "Discover all services, if only some were asked for: the peripheral lacks that request."
        default: remedyForLackingRequest
        }
    }

    /// Explains what an encrypted link lacks: pairing again in the same way gains nothing.
    private mutating func explain(_ error: ATTError, _ security: LinkSecurity, _ wasRaised: Bool) {
        guard security.isEncrypted else { return }
        if wasRaised { cause += "; making the link \(security.level ?? .encrypted) was not enough" }
        switch error {
        case .encryptionKeySizeTooShort:
            cause += "; the link's key has \(security.keySize) octets"
        case .insufficientAuthentication where !security.isAuthenticated:
            cause +=
                "; the link is encrypted with unauthenticated keys, and it requires authenticated ones"
            remedy =
                "Make the link authenticated, with Link.secure(to: .authenticated, answers:); or pass the answers once "
                + "to Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:)."
        default:
            cause +=
                "; the link is \(security.level ?? .encrypted), and it requires more: LE Secure Connections, or a "
                + "longer key"
            remedy = "Remove the bond with Peripheral.unpair() and pair again; both devices must support it."
        }
    }

    /// The error of an operation that required a more secure link, if the link couldn't be raised.
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
