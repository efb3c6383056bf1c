internal import BLERadio

/// A clock that shows virtual time: sleeping on it takes no real time, and cancelling the task ends the sleep
/// immediately.
public struct VirtualClock: Clock {
    /// A moment of virtual time.
    public struct Instant: InstantProtocol {
        /// The time since the run began.
        public var offset: Duration

        /// Makes the moment this long after the run began.
        public init(offset: Duration) { self.offset = offset }

        /// The moment this long after it; before it if the duration is negative.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from this moment to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether a moment is earlier than another.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    let time: VirtualTime

    /// The current moment of the run.
    public var now: Instant { Instant(offset: time.now) }

    /// One nanosecond; no time is rounded.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until a moment.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the run has ended.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let sleeper = Sleeper()
        let timer = time.schedule(after: deadline.offset - time.now, .wake(sleeper))
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { sleeper.sleep($0) }
        } onCancel: {
            sleeper.wake(throwing: CancellationError())
        }
    }
}
