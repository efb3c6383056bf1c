/// How often and how soon something that failed is tried again.
public struct RetryPolicy: Hashable, Sendable {
    /// How many failures in a row are borne; `nil`: any number. A success starts the count afresh.
    public var attempts: Int?

    /// The pause before the first new attempt.
    public var firstDelay: Duration

    /// By what each further pause is longer than the one before; 1 or more.
    public var factor: Double

    /// The longest pause.
    public var longestDelay: Duration

    /// How far a pause may lie from the computed one, as a part of it, 0 to 1: many devices then don't return at once.
    public var jitter: Double

    /// Pauses that grow: 250 ms, 500 ms, 1 s … up to 30 s, each 20 % longer or shorter by chance, for ever.
    public static func exponential(
        from firstDelay: Duration = .milliseconds(250),
        to longestDelay: Duration = .seconds(30),
        factor: Double = 2,
        jitter: Double = 0.2,
        attempts: Int? = nil
    ) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts,
            firstDelay: firstDelay,
            factor: factor,
            longestDelay: longestDelay,
            jitter: jitter
        )
    }

    /// The same pause each time, without chance.
    public static func constant(_ delay: Duration, attempts: Int? = nil) -> RetryPolicy {
        RetryPolicy(attempts: attempts, firstDelay: delay, factor: 1, longestDelay: delay, jitter: 0)
    }

    /// No pause, and a limited number of attempts.
    public static func immediate(attempts: Int) -> RetryPolicy { .constant(.zero, attempts: attempts) }

    /// The pause after the given failure in a row, from 1 on; `nil` when no further attempt is made.
    ///
    /// - Parameter random: 64 random bits, from which the jitter is taken.
    public func delay(afterFailure failure: Int, random: UInt64) -> Duration? {
        if let attempts, failure > attempts { return nil }
        var delay = firstDelay
        for _ in 1..<max(1, failure) where delay < longestDelay { delay = delay * factor }
        delay = min(delay, longestDelay)
        let unit = Double(random >> 11) / Double(UInt64(1) << 53)
        return delay * (1 + jitter * (2 * unit - 1))
    }
}
