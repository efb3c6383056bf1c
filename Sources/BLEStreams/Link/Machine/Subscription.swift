import BLEProtocol

extension LinkMachine {
    /// The subscriber of this link's own: it wants Service Changed.
    static let own: Subscription.ID = 0

    /// Somebody who wants a characteristic's values.
    struct Subscription: Sendable {
        typealias ID = Int

        let consumer: ValueConsumer
        let selector: CharacteristicSelector
        let prefersIndications: Bool
        /// In whose name it subscribes.
        let pass: Pass?
        /// The characteristic, once it is known.
        var characteristic: Characteristic?
        /// Whether it has been told that the peer sends its values.
        var knowsThatArmed = false
        /// What can't be delivered now; `nil`: values go to the consumer as they come.
        var held: HeldValues?

        func isWithin(_ range: ClosedRange<UInt16>) -> Bool {
            characteristic.map { range.contains($0.valueHandle) } ?? false
        }
    }

    /// Values of one consumer that wait: nobody knows whether the handle still means what it meant, or earlier ones are on
    /// their way to the consumer.
    struct HeldValues: Sendable {
        /// How many are kept; what comes beyond is counted.
        static let room = 1024

        var values: [CharacteristicValue] = []
        var lost = 0
        /// Whether it isn't known whose they are.
        var isInDoubt: Bool
        /// Whether somebody hands them over now.
        var isBeingTaken = false

        mutating func add(_ new: [CharacteristicValue]) {
            let kept = new.prefix(Self.room - values.count)
            values += kept
            lost += new.count - kept.count
        }
    }

    /// Where the values of one handle go.
    struct Route: Sendable {
        /// Those who are given them at once.
        var open: [ValueConsumer] = []
        /// Those for whom they wait.
        var held: [Subscription.ID] = []
        /// Whether the link itself wants them: they are Service Changed.
        var isOwn = false

        var isEmpty: Bool { open.isEmpty && held.isEmpty && !isOwn }
    }
}
