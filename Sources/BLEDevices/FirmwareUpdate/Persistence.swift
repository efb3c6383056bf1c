import BLEProtocol
import BLERadio
import BLEStreams

/// Repeats requests to a device that can't answer now, as often in a row and after such pauses as a policy allows.
struct Persistence {
    private let policy: RetryPolicy
    private let timeline: any Timeline
    private var failures = 0
    private var last: (any Error)?

    init(_ policy: RetryPolicy, on timeline: any Timeline) {
        self.policy = policy
        self.timeline = timeline
    }

    /// Records the reason for the next pause.
    mutating func note(_ error: any Error) { last = error }

    /// Restarts the count.
    mutating func succeeded() { failures = 0 }

    /// Waits until the next attempt is due.
    ///
    /// - Throws: the last reason recorded, if the policy allows no further attempt; `CancellationError`.
    mutating func pause() async throws {
        failures += 1
        guard let delay = policy.delay(afterFailure: failures, random: timeline.randomBits()) else {
            throw last ?? CancellationError()
        }
        try await BLEStreams.pause(for: delay, on: timeline)
    }
}
