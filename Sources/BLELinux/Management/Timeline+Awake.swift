internal import BLERadio
internal import Synchronization

extension Timeline {
    /// Runs a closure once the kernel or a controller has had its time, until the activity is cancelled.
    ///
    /// Neither does anything while the machine is asleep, but time goes on, and a timer that was due meanwhile fires as
    /// soon as it wakes up. A time in which it slept for long begins anew instead.
    func schedule(afterAwake limit: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let awake = AwakeLimit(limit, on: self, body)
        awake.begin()
        return RadioActivity { awake.cancel() }
    }
}

private final class AwakeLimit: Sendable {
    private struct State {
        var timer: RadioActivity?
        var isOver = false
    }

    /// How late a timer may be on a machine that is awake.
    private static let lateness = Duration.seconds(10)

    private let limit: Duration
    private let timeline: any Timeline
    private let body: @Sendable () -> Void
    private let state = Mutex(State())

    init(_ limit: Duration, on timeline: any Timeline, _ body: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.timeline = timeline
        self.body = body
    }

    func begin() {
        let end = timeline.now + limit
        let timer = timeline.schedule(after: limit) { [self] in
            if timeline.now - end > Self.lateness { begin() } else { body() }
        }
        let superfluous = state.withLock { state -> RadioActivity? in
            defer { state.timer = state.isOver ? nil : timer }
            return state.isOver ? timer : state.timer
        }
        superfluous?.cancel()
    }

    func cancel() {
        let timer = state.withLock { state in
            state.isOver = true
            return state.timer.take()
        }
        timer?.cancel()
    }
}
