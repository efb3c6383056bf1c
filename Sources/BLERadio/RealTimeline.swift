public import BLEProtocol
import CLibrary
@preconcurrency import Dispatch

/// Real time: timers on a dispatch queue, randomness from the system.
///
/// Time goes on while the machine sleeps: a timer whose time has come meanwhile fires when the machine wakes up.
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
        timer.schedule(deadline: Self.deadline(after: delay), leeway: .milliseconds(1))
        timer.setEventHandler(handler: body)
        timer.activate()
        return RadioActivity { timer.cancel() }
    }

    /// The time after a delay, on the clock of ``now``; Dispatch's own `.now()` is on a clock that stops while the
    /// machine sleeps.
    static func deadline(after delay: Duration) -> DispatchTime {
        // The longest durations have more nanoseconds, and even more seconds, than an integer holds.
        let nanoseconds = Int(clamping: max(delay, .zero).attoseconds / 1_000_000_000)
        // The highest bit alone is "now" on CLOCK_BOOTTIME, for which Dispatch has no name in Swift. Swift's runtime
        // encodes the deadlines of `ContinuousClock` in the same way.
        // Source: swift-corelibs-libdispatch, src/shims/time.h, "Encoding of dispatch_time_t".
        return DispatchTime(uptimeNanoseconds: 1 << 63) + .nanoseconds(nanoseconds)
    }

    public func randomBits() -> UInt64 { .random(in: .min ... .max) }
}
