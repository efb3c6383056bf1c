import BLEProtocol

/// When a failed connection is retried, and when a retry can't help.
///
/// A connection on which nothing is received in its first six events is lost and was never established (Core
/// Specification, Vol 6, Part B, 4.5). That is the commonest failure on air and is transient, mostly very short: so
/// three retries follow without a pause, and then others with growing pauses, within the caller's time limit. Other
/// failures are not retried.
struct ConnectPace: Equatable {
    /// What became of a try.
    struct Failure: Equatable {
        /// The connection was lost, and nothing was ever heard on it.
        let isUnestablished: Bool
        /// The peer has ended a link that it still had with an earlier program, and takes a fresh one then.
        let wasResumed: Bool

        /// - Parameters:
        ///   - wasHeard: whether a PDU had come over the link.
        ///   - wasResumed: whether the radio had found the link, and not made it.
        init(_ error: BLEError, wasHeard: Bool, wasResumed: Bool) {
            let isOfLink = error.code == .connectionFailed || error.code == .disconnected
            isUnestablished = isOfLink && error.reason?.kind == .failedToEstablish && !wasHeard
            self.wasResumed = wasResumed && error.code == .disconnected
        }
    }

    /// How many tries follow without a pause.
    static let triesAtOnce = 3
    static let pauses = RetryPolicy.exponential(from: .milliseconds(250), to: .seconds(4))

    /// Whether there are further tries at all.
    var persists: Bool
    private var resumptions = 0
    /// The connections that were never established.
    private(set) var failures = 0

    init(_ persists: Bool) { self.persists = persists }

    /// For how long to wait before the next try; `nil` where none is to follow.
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
