/// How far a command has come.
public struct CommandProgress: Hashable, Sendable {
    /// The name of the command, in ``CommandQueue/progress``; `nil` elsewhere, where the command is known.
    public internal(set) var command: String?

    /// The name of the phase, in a word or two: `upload`, `verify`.
    public var phase: String

    /// How much of the phase is done, in octets or whatever the command counts; `nil` if it doesn't count.
    public var completed: Int?

    /// How much there is to do in total; `nil` if that is not known.
    public var total: Int?

    /// The progress per second, averaged over the last few seconds; `nil` until it is known.
    public var rate: Double?

    /// The time left at the present rate; `nil` if the total or the rate is not known.
    public var timeLeft: Duration? {
        guard let completed, let total, let rate, rate > 0 else { return nil }
        return .seconds(Double(max(0, total - completed)) / rate)
    }

    /// The fraction done, 0 to 1; `nil` if the total is not known.
    public var fraction: Double? {
        guard let completed, let total, total > 0 else { return nil }
        return min(1, max(0, Double(completed) / Double(total)))
    }

    /// Creates a progress report.
    public init(phase: String, completed: Int? = nil, total: Int? = nil, rate: Double? = nil) {
        self.phase = phase
        self.completed = completed
        self.total = total
        self.rate = rate
    }
}

extension CommandProgress: CustomStringConvertible {
    /// `upload 512/1024`.
    public var description: String {
        guard let completed else { return phase }
        return "\(phase) \(completed)" + (total.map { "/\($0)" } ?? "")
    }
}
