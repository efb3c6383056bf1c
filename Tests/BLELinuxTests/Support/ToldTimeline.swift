import BLEProtocol
import BLERadio
import Synchronization

/// A timeline whose timers fire when a test says so, and not before.
final class ToldTimeline: Timeline {
    private struct State {
        var next = 0
        var timers: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    var now: Duration { .zero }
    var wallTime: ReceptionTime { ReceptionTime(sinceEpoch: .zero, source: .reading) }
    var clock: any Clock<Duration> { ContinuousClock() }
    func randomBits() -> UInt64 { 0 }

    /// How many timers wait.
    var waiting: Int { state.withLock { $0.timers.count } }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let id = state.withLock { state in
            defer { state.next += 1 }
            state.timers[state.next] = body
            return state.next
        }
        return RadioActivity { [self] in _ = state.withLock { $0.timers.removeValue(forKey: id) } }
    }

    /// Has all timers fire that wait now.
    func fire() {
        let timers = state.withLock { state in
            defer { state.timers = [:] }
            return state.timers.values.map { $0 }
        }
        for timer in timers { timer() }
    }
}
