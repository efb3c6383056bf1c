import BLEProtocol

/// Why an operation of a link failed, or a subscription ended; put into words only for the program.
/// Indirect, to keep results small, since most are successes.
indirect enum LinkFailure: Error {
    /// The procedure failed; `wasRaised` says whether the link was raised for it in vain.
    case procedure(GATTFailure, wasRaised: Bool = false)
    /// The peer refused it, and the link could not be raised.
    case notRaised(GATTFailure, because: BLEError)
    /// The link could not be raised to the level that the program requires for it.
    case demand(LinkSecurity.Level, because: BLEError)
    /// The peer's services could not be discovered.
    case search(GATTFailure)
    /// The peer says again and again that its services change, before they are discovered.
    case restless
    /// The peer has no such characteristic.
    case notFound
    /// The named attribute has disappeared, or its handle refers to another one.
    case servicesChanged
    /// The characteristic has none of the required properties.
    case lacksProperty(Characteristic)
    /// The link has ended, or this side is closing it.
    case ended(DisconnectReason)
}

extension LinkFailure: Equatable {
    /// Errors with the same words are equal.
    static func == (left: LinkFailure, right: LinkFailure) -> Bool {
        switch (left, right) {
        case (.procedure(let left, let wasRaised), .procedure(let right, let mayHaveBeen)):
            left == right && wasRaised == mayHaveBeen
        case (.notRaised(let left, let because), .notRaised(let right, let other)):
            left == right && "\(because)" == "\(other)"
        case (.demand(let left, let because), .demand(let right, let other)):
            left == right && "\(because)" == "\(other)"
        case (.search(let left), .search(let right)): left == right
        case (.restless, .restless), (.notFound, .notFound), (.servicesChanged, .servicesChanged): true
        case (.lacksProperty(let left), .lacksProperty(let right)): left == right
        case (.ended(let left), .ended(let right)): left == right
        default: false
        }
    }
}

extension BLEError {
    /// Creates the error of a failed operation.
    ///
    /// - Parameters:
    ///   - object: its object: `of 2A37 of C4:F2:17:1A:1D:BB`.
    ///   - target: the object without a preposition.
    ///   - security: the security of the link, to state what is missing if it is insufficient.
    init(
        _ failure: LinkFailure,
        operation: String,
        object: @autoclosure () -> String,
        target: @autoclosure () -> String,
        security: @autoclosure () -> LinkSecurity
    ) {
        switch failure {
        case .procedure(let failure, let wasRaised):
            self.init(failure, operation: operation, object: object(), security: security(), wasRaised: wasRaised)
        case .notRaised(let failure, let error):
            self = BLEError(failure, operation: operation, object: object()).notRaised(error)
        case .demand(let level, let error):
            self = error
            self.operation = operation
            self.object = target()
            cause = "it requires a link that is \(level): \(error.cause)"
        case .search(let failure):
            self.init(failure, operation: operation, object: target(), security: security())
            if attError == .requestNotSupported { remedy = Self.remedyForLackingRequest }
        case .restless: self = .restlessServices(operation, target())
        case .notFound: self = .noSuchCharacteristic(operation, target())
        case .servicesChanged: self = .servicesChanged(operation, target())
        case .lacksProperty(let found): self = .lacksProperty(found, operation, object())
        case .ended(let reason): self = .linkEnded(reason, operation: operation, object: object())
        }
    }

    private static func restlessServices(_ operation: String, _ target: String) -> BLEError {
        BLEError(
            .servicesChanged,
            operation: operation,
            object: target,
            cause: "the peripheral says again and again that its services change, before they can be discovered",
            remedy: "Try again later. If it goes on, restart the peripheral, and report this to its manufacturer."
        )
    }

    static func noSuchCharacteristic(_ operation: String, _ target: String) -> BLEError {
        BLEError(
            .notFound,
            operation: operation,
            object: target,
            cause: "the peripheral has no such characteristic",
            remedy: "List its services with Link.discover()."
        )
    }

    private static func lacksProperty(_ found: Characteristic, _ operation: String, _ object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "the characteristic does not support this; its properties: \(found.properties)",
            remedy: "Use an operation that its properties permit, or another characteristic."
        )
    }
}
