import BLEStreams

/// The time limit of a command.
struct Deadline: Sendable {
    private let limit: Duration
    private let moment: ContinuousClock.Instant
    private let isShared: Bool

    /// This long from now, or from an earlier start.
    ///
    /// - Parameter isShared: whether all steps share the time; otherwise it is that of the first one, and those after
    ///   it have limits of their own.
    init(in duration: Duration, from start: ContinuousClock.Instant = .now, isShared: Bool = true) {
        (limit, moment, self.isShared) = (duration, start + duration, isShared)
    }

    /// The time left, in whole hundredths of a second: at least one, so that an operation that runs out of time can say
    /// what it waited for.
    var remaining: Duration {
        let hundredths = (ContinuousClock.now.duration(to: moment).seconds * 100).rounded(.up)
        return .milliseconds(10) * max(1, Int(hundredths))
    }

    /// The error of a step. If the step has used up the time, and had only the rest of it, the error also says of what:
    /// otherwise somebody who has waited for ten seconds would read of one.
    func completing(_ error: BLEError) -> BLEError {
        guard isShared, error.code == .timedOut, ContinuousClock.now >= moment, let rest = error.elapsed, rest < limit
        else { return error }
        var error = error
        // More may follow the time. A limit that Bluetooth sets is worded otherwise.
        error.cause.replace("within \(rest)", with: "within \(rest), all that was left of \(limit)")
        return error
    }
}

extension Deadline? {
    /// The time left for connecting: 30 seconds unless said otherwise.
    var forConnecting: Duration { self?.remaining ?? .seconds(30) }

    /// The error of a step, as ``Deadline/completing(_:)`` says.
    func completing(_ error: BLEError) -> BLEError { self?.completing(error) ?? error }
}
