import BLEStreams

/// When a command gives up.
struct Deadline: Sendable {
    private let moment: ContinuousClock.Instant

    /// So long from now on.
    init(in duration: Duration) { moment = .now + duration }

    /// How much time is left, in whole hundredths of a second: one at least, so that whoever runs out of time can say
    /// what it waited for.
    var remaining: Duration {
        let hundredths = (ContinuousClock.now.duration(to: moment).seconds * 100).rounded(.up)
        return .milliseconds(10) * max(1, Int(hundredths))
    }
}

extension Deadline? {
    /// The time left for connecting: 30 seconds where nothing was said.
    var forConnecting: Duration { self?.remaining ?? .seconds(30) }
}
