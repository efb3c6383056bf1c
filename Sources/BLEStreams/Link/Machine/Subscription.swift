import BLEProtocol

extension LinkMachine {
    /// The link's own subscriber, for Service Changed.
    static let own: Subscription.ID = 0

    /// A subscriber to a characteristic's values.
    struct Subscription: Sendable {
        typealias ID = Int

        let consumer: ValueConsumer
        let selector: CharacteristicSelector
        let prefersIndications: Bool
        /// The hold to which it belongs.
        let pass: Pass?
        /// The characteristic, once it is known.
        var characteristic: Characteristic?
        /// Whether it has been told that the peer sends its values.
        var knowsThatArmed = false
        /// Values that can't be delivered now; `nil`: values go directly to the consumer.
        var held: HeldValues?

        func isWithin(_ range: ClosedRange<UInt16>) -> Bool {
            characteristic.map { range.contains($0.valueHandle) } ?? false
        }
    }

    /// Withheld values of one consumer: it is unknown whether the handle still has its meaning, or earlier values are
    /// on their way to the consumer.
    struct HeldValues: Sendable {
        /// The maximum number of values; further ones are only counted.
        static let room = 1024

        var values: [CharacteristicValue] = []
        var lost = 0
        /// Whether it is unknown whose values they are.
        var isInDoubt: Bool
        /// Whether their delivery is in progress.
        var isBeingTaken = false

        mutating func add(_ new: [CharacteristicValue]) {
            let kept = new.prefix(Self.room - values.count)
            values += kept
            lost += new.count - kept.count
        }
    }

    /// Where the values of one handle go.
    struct Route: Sendable {
        /// The consumers that get them at once.
        var open: [ValueConsumer] = []
        /// The subscriptions for which they are withheld.
        var held: [Subscription.ID] = []
        /// Whether the link itself wants them: they are indications of Service Changed.
        var isOwn = false

        var isEmpty: Bool { open.isEmpty && held.isEmpty && !isOwn }
        /// Whether no subscriber of the program gets them.
        var isOnlyOwn: Bool { open.isEmpty && held.isEmpty && isOwn }
    }
}
