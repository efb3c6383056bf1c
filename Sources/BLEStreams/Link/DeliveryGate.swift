import Synchronization

/// What stands between a characteristic's values and one consumer: open, but for the time in which nobody knows whether
/// the handle still means what it meant.
///
/// Values that come meanwhile wait, at most so many; what comes of them is decided when the gate is opened.
final class DeliveryGate: Sendable {
    private static let room = 1024

    private struct Waiting {
        var values: [CharacteristicValue] = []
        var lost = 0
    }

    private let forward: @Sendable ([CharacteristicValue]) -> Void
    private let lose: @Sendable (Int) -> Void
    private let isClosed = Atomic(false)
    private let waiting = Mutex(Waiting())

    /// - Parameter lose: is told how many values were not delivered.
    init(forward: @escaping @Sendable ([CharacteristicValue]) -> Void, lose: @escaping @Sendable (Int) -> Void) {
        self.forward = forward
        self.lose = lose
    }

    func deliver(_ values: [CharacteristicValue]) {
        guard isClosed.load(ordering: .acquiring) else { return forward(values) }
        let mustForward = waiting.withLock { waiting in
            guard isClosed.load(ordering: .acquiring) else { return true }
            let kept = values.prefix(Self.room - waiting.values.count)
            waiting.values += kept
            waiting.lost += values.count - kept.count
            return false
        }
        if mustForward { forward(values) }
    }

    /// Whether values wait.
    var isShut: Bool { isClosed.load(ordering: .acquiring) }

    func close() { isClosed.store(true, ordering: .releasing) }

    /// Lets values through again, and those that waited too where they are still the consumer's.
    func open(forwarding: Bool) {
        waiting.withLock { waiting in
            // Under the lock, so that what comes now stays behind what has waited.
            if forwarding, !waiting.values.isEmpty { forward(waiting.values) }
            let lost = waiting.lost + (forwarding ? 0 : waiting.values.count)
            if lost > 0 { lose(lost) }
            waiting = Waiting()
            isClosed.store(false, ordering: .releasing)
        }
    }
}
