import BLEProtocol

/// The consumers of one subscription of a session, over all its links.
struct SessionChannel {
    private struct Consumer {
        let mailbox: Mailbox<CharacteristicValue>
        /// Since when it gets nothing, and why; `nil` while it does, and before the first link.
        var interruption: (start: Duration, reason: any Error)?
    }

    /// What waits for the first consumer of a planned subscription.
    private static let backlogLimit = 1024

    let isPlanned: Bool
    /// Takes the subscription back on the present link; `nil` where it isn't on.
    var cancel: (@Sendable () -> Void)?
    var isOn = false

    private var consumers: [Int: Consumer] = [:]
    private var backlog = Ring<CharacteristicValue>()
    private var dropped = 0

    init(isPlanned: Bool) { self.isPlanned = isPlanned }

    /// Whether anybody needs it.
    var isWanted: Bool { isPlanned || !consumers.isEmpty }

    mutating func add(_ id: Int, _ mailbox: Mailbox<CharacteristicValue>) {
        if consumers.isEmpty {
            mailbox.lost(dropped)
            mailbox.send(contentsOf: backlog.elements)
            backlog = Ring()
            dropped = 0
        }
        consumers[id] = Consumer(mailbox: mailbox)
    }

    mutating func remove(_ id: Int) { consumers[id] = nil }

    mutating func deliver(_ values: [CharacteristicValue], now: Duration) {
        guard !consumers.isEmpty else {
            for value in values { keep(value) }
            return
        }
        showGaps(now: now)
        for consumer in consumers.values { consumer.mailbox.send(contentsOf: values) }
    }

    private mutating func keep(_ value: CharacteristicValue) {
        if backlog.count == Self.backlogLimit {
            _ = backlog.popFirst()
            dropped += 1
        }
        backlog.append(value)
    }

    /// Values were dropped before they came here. The first consumer hears of them before all that waits for it.
    mutating func lost(_ count: Int) {
        if consumers.isEmpty { dropped += count }
        for consumer in consumers.values { consumer.mailbox.lost(count) }
    }

    /// The subscription is on: what was missed until now is a gap.
    mutating func switchedOn(now: Duration) {
        isOn = true
        showGaps(now: now)
    }

    /// The link is gone: until the next one nobody gets anything.
    mutating func interrupted(by reason: any Error, now: Duration) {
        cancel = nil
        guard isOn else { return }
        isOn = false
        for id in consumers.keys where consumers[id]?.interruption == nil {
            consumers[id]?.interruption = (now, reason)
        }
    }

    /// Ends the streams of all consumers.
    mutating func finish(throwing error: (any Error)?) {
        for consumer in consumers.values { consumer.mailbox.finish(throwing: error) }
        consumers = [:]
    }

    private mutating func showGaps(now: Duration) {
        for (id, consumer) in consumers {
            guard let (start, reason) = consumer.interruption else { continue }
            consumer.mailbox.interrupted(by: reason, for: now - start)
            consumers[id]?.interruption = nil
        }
    }
}
