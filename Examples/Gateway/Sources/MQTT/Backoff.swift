/// The pauses between attempts: each about twice the one before, up to a limit, with jitter so that many clients don't
/// come back at once.
public struct Backoff: Hashable, Sendable {
    /// The first pause.
    public var first: Duration
    /// The longest pause.
    public var most: Duration

    private var attempts = 0

    /// Pauses from half a second to a minute.
    public init(first: Duration = .milliseconds(500), most: Duration = .seconds(60)) {
        self.first = first
        self.most = most
    }

    /// The next pause: between half of the full one and the full one.
    ///
    /// - Parameter random: a number from 0 to 1.
    public mutating func next(random: Double) -> Duration {
        let full = min(first * (1 << min(attempts, 20)), most)
        attempts += 1
        return full * (0.5 + 0.5 * min(max(random, 0), 1))
    }

    /// An attempt has succeeded, and its connection has held.
    public mutating func reset() { attempts = 0 }
}
