import BLEProtocol
import BLERadio
import Synchronization

/// A timeline on which nothing happens before the test lets it.
final class HandTimeline: Timeline {
    private let due = Mutex<[(id: Int, body: @Sendable () -> Void)]>([])
    private let lastID = Mutex(0)

    var now: Duration { .zero }
    var wallTime: ReceptionTime { ReceptionTime(sinceEpoch: .zero, source: .simulation) }
    var clock: any Clock<Duration> { ContinuousClock() }
    func randomBits() -> UInt64 { 0 }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let id = lastID.withLock { id in
            id += 1
            return id
        }
        due.withLock { $0.append((id, body)) }
        return RadioActivity { self.due.withLock { $0.removeAll { $0.id == id } } }
    }

    /// Lets the first thing that was scheduled happen; whether there was one.
    func step() -> Bool {
        guard let first = due.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        first.body()
        return true
    }
}

/// A timeline on which what is scheduled first happens before whoever scheduled it knows, and all else when the test
/// lets it.
final class EagerTimeline: Timeline {
    let hand = HandTimeline()
    private let first = Mutex(true)

    var now: Duration { .zero }
    var wallTime: ReceptionTime { hand.wallTime }
    var clock: any Clock<Duration> { ContinuousClock() }
    func randomBits() -> UInt64 { 0 }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let isFirst = first.withLock { first in
            defer { first = false }
            return first
        }
        guard isFirst else { return hand.schedule(after: delay, body) }
        body()
        return RadioActivity {}
    }
}
