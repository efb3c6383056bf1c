import BLEProtocol

/// Why an operation of a link failed, or a subscription ended; put into words only where the program hears of it.
/// Indirect: a result has room for it, and mostly is none.
indirect enum LinkFailure: Error {
    /// The procedure failed; `wasRaised` tells whether the link was made more secure for it in vain.
    case procedure(GATTFailure, wasRaised: Bool = false)
    /// The peer refused it, and the link could not be made more secure.
    case notRaised(GATTFailure, because: BLEError)
    /// The link could not be made as secure as the program demands for it.
    case demand(LinkSecurity.Level, because: BLEError)
    /// What the peer offers could not be found out.
    case search(GATTFailure)
    /// The peer has no such characteristic.
    case notFound
    /// What was named is not there any more, or means something else.
    case servicesChanged
    /// The characteristic has none of the properties that it takes.
    case lacksProperty(Characteristic)
    /// The link is over, or is being closed by this side.
    case ended(DisconnectReason)
}

extension LinkFailure: Equatable {
    /// Errors are equal where their words are.
    static func == (left: LinkFailure, right: LinkFailure) -> Bool {
        switch (left, right) {
        case (.procedure(let left, let wasRaised), .procedure(let right, let mayHaveBeen)):
            left == right && wasRaised == mayHaveBeen
        case (.notRaised(let left, let because), .notRaised(let right, let other)):
            left == right && "\(because)" == "\(other)"
        case (.demand(let left, let because), .demand(let right, let other)):
            left == right && "\(because)" == "\(other)"
        case (.search(let left), .search(let right)): left == right
        case (.notFound, .notFound), (.servicesChanged, .servicesChanged): true
        case (.lacksProperty(let left), .lacksProperty(let right)): left == right
        case (.ended(let left), .ended(let right)): left == right
        default: false
        }
    }
}

extension BLEError {
    /// What an operation failed for.
    ///
    /// - Parameters:
    ///   - object: what it was about: `of 2A37 of C4:F2:17:1A:1D:BB`.
    ///   - target: what was looked for, without a preposition.
    ///   - security: how the link is secured, which says what is missing where that is not enough.
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
            cause = "the link is to be \(level) for it: \(error.cause)"
        case .search(let failure): self.init(failure, operation: operation, object: target())
        case .notFound: self = .noSuchCharacteristic(operation, target())
        case .servicesChanged: self = .servicesChanged(operation, target())
        case .lacksProperty(let found): self = .lacksProperty(found, operation, object())
        case .ended(let reason): self = .linkEnded(reason, operation: operation, object: object())
        }
    }

    static func noSuchCharacteristic(_ operation: String, _ target: String) -> BLEError {
        BLEError(
            .notFound,
            operation: operation,
            object: target,
            cause: "the peripheral has no such characteristic",
            remedy: "List what it has with Link.discover()."
        )
    }

    private static func lacksProperty(_ found: Characteristic, _ operation: String, _ object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "the characteristic has no such property; it has: \(found.properties)",
            remedy: "Use one of the properties that it has, or another characteristic."
        )
    }
}
