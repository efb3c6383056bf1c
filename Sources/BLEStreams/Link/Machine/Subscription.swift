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
        /// Whether it gets nothing yet: it has begun while the peer is told to stop sending to those before it.
        var awaitsSwitchOff = false
        /// Whether the peer may have sent its values before they were asked for on this link.
        var wasSent = false
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
        /// The places among them where some are missing, or may be, in order.
        var losses: [Loss] = []
        /// Whether it is unknown whose values they are.
        var isInDoubt: Bool
        /// Whether their delivery is in progress.
        var isBeingTaken = false

        mutating func add(_ new: [CharacteristicValue]) {
            let kept = new.prefix(Self.room - values.count)
            values += kept
            if kept.count < new.count { losses.add(Loss(position: values.count, dropped: new.count - kept.count)) }
        }

        /// The values are not the consumer's: they are lost. That the peer may have withheld some is told with the move
        /// or the end of the subscription.
        mutating func giveUp() {
            let all = Loss(
                position: 0,
                dropped: losses.reduce(values.count) { $0 + $1.dropped },
                mayLackMore: losses.contains(where: \.mayLackMore)
            )
            values = []
            losses = all.dropped > 0 || all.mayLackMore ? [all] : []
        }

        /// Takes the values up to the first place where some are missing, and what is missing there; `nil` if there is
        /// nothing.
        mutating func take() -> HeldPart? {
            guard let loss = losses.first else {
                guard !values.isEmpty else { return nil }
                defer { values = [] }
                return HeldPart(values: values)
            }
            losses.removeFirst()
            for index in losses.indices { losses[index].position -= loss.position }
            let taken = Array(values.prefix(loss.position))
            values.removeFirst(loss.position)
            return HeldPart(
                values: taken,
                lost: loss.dropped,
                mayLackMore: loss.mayLackMore,
                isWithheld: loss.isWithheld
            )
        }
    }

    /// Values up to a place where some are missing, or may be, and what is missing there.
    struct HeldPart {
        var values: [CharacteristicValue]
        var lost = 0
        var mayLackMore = false
        var isWithheld = false
    }

    /// A place among values that wait, where some are missing.
    struct Loss: Equatable, Sendable {
        /// How many of the values are before it.
        var position: Int
        /// How many are missing.
        var dropped = 0
        /// Whether more may be: PDUs of the link were dropped of which nobody knows whose they were.
        var mayLackMore = false
        /// Whether the peer may have withheld some.
        var isWithheld = false
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

extension [LinkMachine.Loss] {
    /// Adds one behind the others. Those at one place are one.
    mutating func add(_ loss: LinkMachine.Loss) {
        guard let last, last.position == loss.position else { return append(loss) }
        self[count - 1].dropped += loss.dropped
        self[count - 1].mayLackMore = last.mayLackMore || loss.mayLackMore
        self[count - 1].isWithheld = last.isWithheld || loss.isWithheld
    }
}
