import BLEProtocol

/// One consumer of a characteristic's values. The machine names it, but never calls it.
final class ValueConsumer: Sendable {
    /// What it subscribes to, for errors: `of 2A37 of C4:F2:17:1A:1D:BB`.
    let object: String
    /// Takes values in order, as many as arrived at once; at least one.
    let deliver: @Sendable ([CharacteristicValue]) -> Void
    /// Called with the number of values that were dropped before they arrived here.
    let lost: @Sendable (Int) -> Void
    /// Called where PDUs of the link were dropped and nobody knows whose they were: a message may have a hole here.
    let mayLack: @Sendable () -> Void
    /// Called where the peer may have withheld values, because this side did not know that its services had changed: the
    /// subscription goes on as it was.
    let withheld: @Sendable () -> Void
    /// Ends the consumer's stream; without an error when this side closed the link.
    let finish: @Sendable (BLEError?) -> Void
    /// Called at most once, when the link is free for the subscription: until then, it waits for others.
    let begun: @Sendable () -> Void
    /// Called when the subscription is queued, with the characteristic: what begins now follows it on air. Called again
    /// when the services have changed and the subscription is made anew, when the peer may have withheld values, and
    /// when it is repeated on a more secure link.
    let registered: @Sendable (Characteristic) -> Void
    /// Called when the services have changed and the peer has ended the subscription with the former characteristic:
    /// values may be missing here, and the next one is of the characteristic that has taken its place.
    let moved: @Sendable () -> Void
    /// Called once, when the peer has confirmed that it sends the values.
    let armed: @Sendable () -> Void
    /// The pairing answers if the link isn't secure enough for it; `nil`: it fails then.
    let answers: @Sendable () -> PairingAnswers?

    init(
        object: String,
        deliver: @escaping @Sendable ([CharacteristicValue]) -> Void,
        lost: @escaping @Sendable (Int) -> Void = { _ in },
        mayLack: @escaping @Sendable () -> Void = {},
        withheld: @escaping @Sendable () -> Void = {},
        finish: @escaping @Sendable (BLEError?) -> Void,
        begun: @escaping @Sendable () -> Void = {},
        registered: @escaping @Sendable (Characteristic) -> Void = { _ in },
        moved: @escaping @Sendable () -> Void = {},
        armed: @escaping @Sendable () -> Void = {},
        answers: @escaping @Sendable () -> PairingAnswers? = { nil }
    ) {
        self.object = object
        self.deliver = deliver
        self.lost = lost
        self.mayLack = mayLack
        self.withheld = withheld
        self.finish = finish
        self.begun = begun
        self.registered = registered
        self.moved = moved
        self.armed = armed
        self.answers = answers
    }
}

extension ValueConsumer: Equatable {
    static func == (left: ValueConsumer, right: ValueConsumer) -> Bool { left === right }
}
