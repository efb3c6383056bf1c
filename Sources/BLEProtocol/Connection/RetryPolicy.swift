/// How often and how soon something that failed is tried again.
public struct RetryPolicy: Hashable, Sendable {
    /// How many failures in a row are borne; `nil`: any number. ``stableAfter`` says when the count starts afresh.
    public var attempts: Int?

    /// The pause before the first new attempt.
    public var firstDelay: Duration

    /// By what each further pause is longer than the one before; 1 or more.
    public var factor: Double

    /// The longest pause, jitter not counted.
    public var longestDelay: Duration

    /// How far a pause may deviate from the computed one, as a fraction of it, 0 to 1, so that many devices don't
    /// return at once.
    public var jitter: Double

    /// For how long all must be well before the count of failures starts afresh.
    ///
    /// A session counts from the moment at which it is ready, a stream from its first element, to the moment at which it
    /// fails. What fails sooner is the next failure in a row, after which the pause is longer: a device that drops each
    /// link as soon as it is subscribed to isn't connected to several times a second. Zero: any success is enough.
    public var stableAfter: Duration

    /// Any policy; ``exponential(from:to:factor:jitter:attempts:stableAfter:)`` and the other functions are easier to read.
    public init(
        attempts: Int?,
        firstDelay: Duration,
        factor: Double,
        longestDelay: Duration,
        jitter: Double,
        stableAfter: Duration = .seconds(10)
    ) {
        self.attempts = attempts
        self.firstDelay = firstDelay
        self.factor = factor
        self.longestDelay = longestDelay
        self.jitter = jitter
        self.stableAfter = stableAfter
    }

    /// Pauses that grow: 250 ms, 500 ms, 1 s … up to 30 s, each randomly up to 20 % longer or shorter, forever. They
    /// start again with the shortest one after ten seconds without a failure.
    public static func exponential(
        from firstDelay: Duration = .milliseconds(250),
        to longestDelay: Duration = .seconds(30),
        factor: Double = 2,
        jitter: Double = 0.2,
        attempts: Int? = nil,
        stableAfter: Duration = .seconds(10)
    ) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts,
            firstDelay: firstDelay,
            factor: factor,
            longestDelay: longestDelay,
            jitter: jitter,
            stableAfter: stableAfter
        )
    }

    /// The same pause each time, without chance.
    public static func constant(
        _ delay: Duration,
        attempts: Int? = nil,
        stableAfter: Duration = .seconds(10)
    ) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts,
            firstDelay: delay,
            factor: 1,
            longestDelay: delay,
            jitter: 0,
            stableAfter: stableAfter
        )
    }

    /// No pause, and a limited number of attempts.
    public static func immediate(attempts: Int) -> RetryPolicy { .constant(.zero, attempts: attempts) }

    /// The pause after the given failure in a row, from 1 on, zero or longer; `nil` when no further attempt is made.
    ///
    /// - Parameter random: 64 random bits, from which the jitter is taken.
    public func delay(afterFailure failure: Int, random: UInt64) -> Duration? {
        if let attempts, failure > attempts { return nil }
        let growth = max(1, factor).raised(to: failure - 1)
        var delay = firstDelay
        if delay > .zero {
            // Compared before it is multiplied: after many failures the growth is beyond any duration.
            delay = growth < longestDelay / delay ? delay * growth : longestDelay
        }
        // 53 bits: as many as a Double holds exactly.
        let chance = Double(random >> 11) / 0x1p53
        return max(.zero, delay * (1 + jitter * (2 * chance - 1)))
    }
}

extension Double {
    /// A power with a whole exponent; exact where the result is.
    fileprivate func raised(to exponent: Int) -> Double {
        var (power, base, left) = (1.0, self, exponent)
        while left > 0 {
            if left & 1 == 1 { power *= base }
            base *= base
            left >>= 1
        }
        return power
    }
}
