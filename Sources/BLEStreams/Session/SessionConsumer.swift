import BLEProtocol

/// A consumer of the values of one subscription of a session.
///
/// `put`, `lost` and `interrupted` are called under a lock, which keeps the order. Each returns whether to call `wake`
/// then. It is a class because each value's delivery hands it on: that retains one object instead of seven closures.
final class SessionConsumer: Sendable {
    let put: @Sendable ([CharacteristicValue]) -> Bool
    /// This many values were dropped before they arrived here.
    let lost: @Sendable (Int) -> Bool
    /// Nothing could be received for a time that ends now.
    let interrupted: @Sendable (StreamGap) -> Bool
    /// Wakes the consumer to take what was put; called without a lock.
    let wake: @Sendable () -> Void
    /// The subscription is confirmed: on each link, and at the beginning if it already is; or it has been made anew,
    /// and values may be missing. Only a consumer that reads the value then has it.
    let switchedOn: (@Sendable () -> Void)?
    /// The values have ended; `nil` for a consumer that outlives a failure of the session.
    let finish: (@Sendable ((any Error)?) -> Void)?
    /// Takes what the consumer leaves behind, under the lock; `nil` if that is of no use to another one.
    let takeRest: (@Sendable () -> Mailbox<CharacteristicValue>.Rest)?
    /// Where the consumer begins and leaves; `nil` if what it leaves behind is of no use to another one.
    let place: ConsumerPlace?

    init(
        put: @escaping @Sendable ([CharacteristicValue]) -> Bool,
        lost: @escaping @Sendable (Int) -> Bool,
        interrupted: @escaping @Sendable (StreamGap) -> Bool,
        wake: @escaping @Sendable () -> Void,
        switchedOn: (@Sendable () -> Void)? = nil,
        finish: (@Sendable ((any Error)?) -> Void)?,
        takeRest: (@Sendable () -> Mailbox<CharacteristicValue>.Rest)? = nil,
        place: ConsumerPlace? = nil
    ) {
        self.put = put
        self.lost = lost
        self.interrupted = interrupted
        self.wake = wake
        self.switchedOn = switchedOn
        self.finish = finish
        self.takeRest = takeRest
        self.place = place
    }

    /// Creates a consumer for a stream.
    convenience init(_ mailbox: Mailbox<CharacteristicValue>, at place: ConsumerPlace?) {
        self.init(
            put: { mailbox.put(burst: $0).mustWake },
            lost: { mailbox.put(lost: $0) },
            interrupted: { mailbox.put($0) },
            wake: { mailbox.wake() },
            finish: { mailbox.finish(throwing: $0) },
            takeRest: { mailbox.takeRest() },
            place: place
        )
    }
}
