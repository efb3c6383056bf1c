import BLEProtocol
public import BLERadio

/// The failures of one iteration of `retry`: how many in a row, since when, and how long to pause.
@usableFromInline
final class RetryPause {
    private let policy: RetryPolicy
    private let isWorthwhile: (any Error) -> Bool
    private let timeline: any Timeline
    let waker: Waker
    private let alarm: Alarm

    private var failures = 0
    /// When the first element after the last failure arrived; `nil` before it.
    private var wellSince: Duration?
    /// When and why values stopped arriving; `nil` while they arrive.
    private var interruption: (start: Duration, reason: any Error)?
    private var end: Duration?
    private var mustWait = false

    @usableFromInline
    init(
        _ policy: RetryPolicy,
        _ isWorthwhile: @escaping (any Error) -> Bool,
        timeline: any Timeline,
        waker: Waker
    ) {
        self.policy = policy
        self.isWorthwhile = isWorthwhile
        self.timeline = timeline
        self.waker = waker
        alarm = Alarm(timeline: timeline, waker: waker)
    }

    /// Records a failure; `false` if another attempt isn't worthwhile.
    func failed(with error: any Error) -> Bool {
        guard !(error is CancellationError), isWorthwhile(error) else { return false }
        let now = timeline.now
        if let since = wellSince.take(), now - since >= policy.stableAfter { failures = 0 }
        failures += 1
        guard let delay = policy.delay(afterFailure: failures, random: timeline.randomBits()) else { return false }
        end = now + delay
        mustWait = true
        interruption = interruption ?? (now, error)
        return true
    }

    /// Whether it is time to open the upstream; if not, the consumer will be woken then.
    func isOver() -> Bool {
        guard let end else { return true }
        let now = timeline.now
        // Even a pause of zero must be waited for: a source that always fails at once would never yield.
        if now >= end, !mustWait { return true }
        mustWait = false
        alarm.ring(at: end, now: now)
        return false
    }

    /// Records the first element since a failure or the start; returns the gap before it if it follows a failure.
    func succeeded() -> StreamGap? {
        let now = timeline.now
        wellSince = now
        guard let interruption else { return nil }
        self.interruption = nil
        return StreamGap(reason: interruption.reason, duration: now - interruption.start)
    }

    func stop() { alarm.stop() }
}
