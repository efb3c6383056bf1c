import BLEProtocol

/// When a failed connection is retried, and when a retry can't help.
///
/// A connection on which nothing is received in its first six events is lost and was never established (Core
/// Specification, Vol 6, Part B, 4.5). That is the commonest failure on air and is transient, mostly very short: so
/// three retries follow without a pause, and then others with growing pauses, within the caller's time limit. Other
/// failures are not retried.
struct ConnectPace: Equatable {
    /// The failure of an attempt.
    struct Failure: Equatable {
        /// The connection was lost before anything was received on it.
        let isUnestablished: Bool
        /// A link left by an earlier program has ended, or had to be closed because the peer answers nothing on it any
        /// more; the peer will accept a new one.
        let wasResumed: Bool

        /// - Parameters:
        ///   - wasHeard: whether a PDU was received on the link.
        ///   - wasResumed: whether the radio took over an existing link.
        init(_ error: BLEError, wasHeard: Bool, wasResumed: Bool) {
            let isOfLink = error.code == .connectionFailed || error.code == .disconnected
            isUnestablished = isOfLink && error.reason?.kind == .failedToEstablish && !wasHeard
            self.wasResumed = wasResumed && error.endsLink
        }
    }

    /// How many retries follow without a pause.
    static let triesAtOnce = 3
    static let pauses = RetryPolicy.exponential(from: .milliseconds(250), to: .seconds(4))

    /// Whether there are any retries.
    var persists: Bool
    private var resumptions = 0
    /// The number of connections never established.
    private(set) var failures = 0

    init(_ persists: Bool) { self.persists = persists }

    /// The pause before the next attempt; `nil` for no further attempt.
    mutating func pause(after failure: Failure, random: UInt64) -> Duration? {
        if failure.isUnestablished { failures += 1 }
        guard persists else { return nil }
        if failure.isUnestablished {
            guard failures > Self.triesAtOnce else { return .zero }
            return Self.pauses.delay(afterFailure: failures - Self.triesAtOnce, random: random)
        }
        guard failure.wasResumed, resumptions < Self.triesAtOnce else { return nil }
        resumptions += 1
        return .zero
    }
}
