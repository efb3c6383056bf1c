import BLEProtocol
import BLERadio
import Synchronization

@testable import BLELinux

/// Time that stands still until a test lets the next timer fire: it is that timer's time then.
final class StepTimeline: Timeline {
    private struct Timer {
        var number: Int
        var due: Duration
        var body: @Sendable () -> Void
    }

    private struct State {
        var now = Duration.zero
        var next = 0
        var timers: [Timer] = []
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }
    var wallTime: ReceptionTime { ReceptionTime(sinceEpoch: now, source: .simulation) }
    var clock: any Clock<Duration> { ContinuousClock() }
    /// How many timers run.
    var running: Int { state.withLock { $0.timers.count } }

    func randomBits() -> UInt64 { 4 }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.timers.append(Timer(number: state.next, due: state.now + max(delay, .zero), body: body))
            return state.next
        }
        return RadioActivity { [self] in
            // Let go of outside the lock.
            let cancelled = state.withLock { state -> Timer? in
                guard let place = state.timers.firstIndex(where: { $0.number == number }) else { return nil }
                return state.timers.remove(at: place)
            }
            _ = cancelled
        }
    }

    /// Goes on to the next timer, unless that is later than `limit`; `false` where it is, or there is none.
    func step(until limit: Duration) -> Bool {
        let due = state.withLock { state -> Timer? in
            guard let next = state.timers.min(by: { ($0.due, $0.number) < ($1.due, $1.number) }), next.due <= limit
            else { return nil }
            state.timers.removeAll { $0.number == next.number }
            state.now = max(state.now, next.due)
            return next
        }
        due?.body()
        return due != nil
    }
}

extension FakeKernel {
    /// Lets things happen, and time go on where nothing else can happen, until the condition holds; `false` where it
    /// does not within the time.
    func run(_ timeline: StepTimeline, within time: Duration, until isDone: () -> Bool) async -> Bool {
        let limit = timeline.now + time
        while true {
            await idle()
            if isDone() { return true }
            guard timeline.step(until: limit) else { return isDone() }
        }
    }
}
