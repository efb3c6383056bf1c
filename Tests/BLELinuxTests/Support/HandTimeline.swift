import BLEProtocol
import BLERadio
import Synchronization

/// A timeline whose timers fire when a test says so.
final class HandTimeline: Timeline {
    private struct Timer {
        var number: Int
        var delay: Duration
        var body: @Sendable () -> Void
    }

    private let timers = Mutex<(next: Int, all: [Timer])>((0, []))
    private let moment = Mutex(Duration.zero)
    private let step: Duration
    private let cancels: Bool

    /// - Parameters:
    ///   - step: how much time passes between two looks at the clock.
    ///   - cancels: whether timers can be cancelled; otherwise they count as just passed when that is tried.
    init(step: Duration = .zero, cancels: Bool = true) { (self.step, self.cancels) = (step, cancels) }

    /// The delays of the timers that run.
    var delays: [Duration] { timers.withLock { $0.all.map(\.delay) } }

    var now: Duration {
        moment.withLock { moment in
            defer { moment += step }
            return moment
        }
    }

    /// Lets time pass; no timer fires.
    func pass(_ duration: Duration) { moment.withLock { $0 += duration } }

    var wallTime: ReceptionTime { RealTimeline().wallTime }
    var clock: any Clock<Duration> { ContinuousClock() }

    func randomBits() -> UInt64 { 4 }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let number = timers.withLock { timers in
            defer { timers.next += 1 }
            timers.all.append(Timer(number: timers.next, delay: delay, body: body))
            return timers.next
        }
        guard cancels else { return RadioActivity {} }
        return RadioActivity { [self] in timers.withLock { $0.all.removeAll { $0.number == number } } }
    }

    /// Fires all that run.
    func fire() {
        let due = timers.withLock { timers in
            defer { timers.all = [] }
            return timers.all
        }
        for timer in due { timer.body() }
    }

    /// Fires those with this delay.
    func fire(_ delay: Duration) {
        let due = timers.withLock { timers in
            let due = timers.all.filter { $0.delay == delay }
            timers.all.removeAll { $0.delay == delay }
            return due
        }
        for timer in due { timer.body() }
    }
}
