import BLEStreams

/// The time limit of a command.
struct Deadline: Sendable {
    private let moment: ContinuousClock.Instant

    /// This long from now.
    init(in duration: Duration) { moment = .now + duration }

    /// The time left, in whole hundredths of a second: at least one, so that an operation that runs out of time can say
    /// what it waited for.
    var remaining: Duration {
        let hundredths = (ContinuousClock.now.duration(to: moment).seconds * 100).rounded(.up)
        return .milliseconds(10) * max(1, Int(hundredths))
    }
}

extension Deadline? {
    /// The time left for connecting: 30 seconds unless said otherwise.
    var forConnecting: Duration { self?.remaining ?? .seconds(30) }
}
