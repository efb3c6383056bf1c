import BLEProtocol
import BLERadio

/// A consumer of the values of one subscription of a session.
struct SessionConsumer: Sendable {
    let send: @Sendable ([CharacteristicValue]) -> Void
    /// This many values were dropped before they arrived here.
    let lost: @Sendable (Int) -> Void
    /// Nothing could be received for a time that ends now.
    let interrupted: @Sendable (any Error, Duration) -> Void
    /// The subscription is confirmed: on each link, and at the beginning if it already is.
    var switchedOn: (@Sendable () -> Void)?
    /// The values have ended; `nil` for a consumer that outlives a failure of the session.
    let finish: (@Sendable ((any Error)?) -> Void)?
}

extension SessionConsumer {
    /// Creates a consumer for a stream.
    init(_ mailbox: Mailbox<CharacteristicValue>) {
        self.init(
            send: { mailbox.send(burst: $0) },
            lost: { mailbox.lost($0) },
            interrupted: { mailbox.interrupted(by: $0, for: $1) },
            finish: { mailbox.finish(throwing: $0) }
        )
    }
}

/// The consumers of one subscription of a session, over all its links.
struct SessionChannel {
    private struct Consumer {
        let consumer: SessionConsumer
        /// The beginning of a gap and its cause; `nil` while values arrive, and before the first link.
        var interruption: (start: Duration, reason: any Error)?
    }

    /// The values buffered for the first consumer of a planned subscription.
    private static let backlogLimit = 1024

    let isPlanned: Bool
    /// Ends the subscription on the present link; `nil` if it is not in place.
    var cancel: (@Sendable () -> Void)?
    var isOn = false

    private var consumers = Observers<Consumer>()
    private var backlog = Ring<CharacteristicValue>()
    private var dropped = 0

    init(isPlanned: Bool) { self.isPlanned = isPlanned }

    /// Whether it is needed.
    var isWanted: Bool { isPlanned || !consumers.isEmpty }

    mutating func add(_ consumer: SessionConsumer) -> Int {
        if consumers.isEmpty {
            if dropped > 0 { consumer.lost(dropped) }
            consumer.send(backlog.elements)
            backlog = Ring()
            dropped = 0
        }
        return consumers.add(Consumer(consumer: consumer))
    }

    /// Removes a consumer, to be released outside the lock.
    mutating func remove(_ id: Int) -> SessionConsumer? { consumers.remove(id)?.consumer }

    mutating func deliver(_ values: [CharacteristicValue], now: Duration) {
        guard !consumers.isEmpty else {
            for value in values { keep(value) }
            return
        }
        showGaps(now: now)
        for entry in consumers.all { entry.consumer.send(values) }
    }

    private mutating func keep(_ value: CharacteristicValue) {
        if backlog.count == Self.backlogLimit {
            _ = backlog.popFirst()
            dropped += 1
        }
        backlog.append(value)
    }

    /// Values were dropped before they arrived here. The first consumer is told before its buffered values.
    mutating func lost(_ count: Int) {
        if consumers.isEmpty { dropped += count }
        for entry in consumers.all { entry.consumer.lost(count) }
    }

    /// The subscription is in place: the time until now is a gap.
    ///
    /// - Returns: the consumers, to be told outside the lock.
    mutating func switchedOn(now: Duration) -> [SessionConsumer] {
        isOn = true
        showGaps(now: now)
        return consumers.all.map(\.consumer)
    }

    /// The link has ended: no consumer gets values until the next one.
    mutating func interrupted(by reason: any Error, now: Duration) {
        cancel = nil
        guard isOn else { return }
        isOn = false
        consumers.updateEach { entry in if entry.interruption == nil { entry.interruption = (now, reason) } }
    }

    /// Takes all consumers out, to be told of the end without a lock, but for those that outlive a failure of the session.
    mutating func finish() -> [SessionConsumer] {
        consumers.removeAll { $0.consumer.finish != nil }.map(\.consumer)
    }

    private mutating func showGaps(now: Duration) {
        consumers.updateEach { entry in
            guard let (start, reason) = entry.interruption else { return }
            entry.consumer.interrupted(reason, now - start)
            entry.interruption = nil
        }
    }
}
