import BLEProtocol
import BLERadio
import BLEStreams

/// Asks a device again that can't answer now, as often in a row and after such pauses as a policy says.
struct Persistence {
    private let policy: RetryPolicy
    private let timeline: any Timeline
    private var failures = 0
    private var last: (any Error)?

    init(_ policy: RetryPolicy, on timeline: any Timeline) {
        self.policy = policy
        self.timeline = timeline
    }

    /// Whether there was a pause since the last success.
    var hasPaused: Bool { failures > 0 }

    /// Takes note of why there will be a pause.
    mutating func note(_ error: any Error) { last = error }

    /// Counts afresh.
    mutating func succeeded() { failures = 0 }

    /// Lets the time pass until it is worth asking again.
    ///
    /// - Throws: what was noted last, when the policy allows no further attempt; `CancellationError`.
    mutating func pause() async throws {
        failures += 1
        guard let delay = policy.delay(afterFailure: failures, random: timeline.randomBits()) else {
            throw last ?? CancellationError()
        }
        try await BLEStreams.pause(for: delay, on: timeline)
    }
}
