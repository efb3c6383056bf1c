public import BLEProtocol
import CLibrary
@preconcurrency import Dispatch

/// Real time: timers on a dispatch queue, randomness from the system.
public struct RealTimeline: Timeline {
    private static let queue = DispatchQueue(label: "BLEStreams.timers")
    private static let start = ContinuousClock.now

    /// Makes a timeline of real time; all values are equivalent.
    public init() {}

    public var now: Duration { Self.start.duration(to: .now) }

    public var wallTime: ReceptionTime {
        var moment = timespec()
        clock_gettime(CLOCK_REALTIME, &moment)
        let sinceEpoch = Duration.seconds(moment.tv_sec) + .nanoseconds(moment.tv_nsec)
        return ReceptionTime(sinceEpoch: sinceEpoch, source: .reading)
    }

    public var clock: any Clock<Duration> { ContinuousClock() }

    public func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let timer = DispatchSource.makeTimerSource(queue: Self.queue)
        // The longest durations have more nanoseconds, and even more seconds, than an integer holds.
        let nanoseconds = Int(clamping: max(delay, .zero).attoseconds / 1_000_000_000)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .milliseconds(1))
        timer.setEventHandler(handler: body)
        timer.activate()
        return RadioActivity { timer.cancel() }
    }

    public func randomBits() -> UInt64 { .random(in: .min ... .max) }
}
