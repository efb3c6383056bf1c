/// How often and how soon a failed operation is retried.
public struct RetryPolicy: Hashable, Sendable {
    /// The number of retries in a row; `nil`: unlimited. ``stableAfter`` says when the count restarts.
    package var attempts: Int?

    /// The pause before the first retry.
    package var firstDelay: Duration

    /// The ratio of each pause to the previous one; 1 or more.
    package var factor: Double

    /// The longest pause, without jitter.
    package var longestDelay: Duration

    /// The random deviation of a pause, as a fraction of it, 0 to 1, so that many devices don't reconnect at the same
    /// time.
    package var jitter: Double

    /// How long an operation must work before the count of failures restarts.
    ///
    /// For a session, the time counts from ready, for a stream from its first element, to the failure. A failure before
    /// that time is the next one in a row, and lengthens the pause, so that a device that drops each link after a
    /// subscription is not reconnected several times a second. Zero: any success restarts the count.
    package var stableAfter: Duration

    /// Makes any policy; a factor or a jitter out of its range counts as the nearest one in it, and NaN as the least.
    package init(
        attempts: Int?,
        firstDelay: Duration,
        factor: Double,
        longestDelay: Duration,
        jitter: Double,
        stableAfter: Duration = .seconds(10)
    ) {
        self.attempts = attempts
        self.firstDelay = firstDelay
        // Finite, and equal to itself: a kept plan is stored, and compared.
        self.factor = factor > 1 ? min(factor, .greatestFiniteMagnitude) : 1
        self.longestDelay = longestDelay
        self.jitter = jitter > 0 ? min(jitter, 1) : 0
        self.stableAfter = stableAfter
    }

    /// Growing pauses: by default 250 ms, 500 ms, 1 s … up to 30 s, each randomly up to 20 % longer or shorter, for an
    /// unlimited number of retries.
    ///
    /// - Parameters:
    ///   - firstDelay: the pause before the first retry; less than zero counts as zero.
    ///   - longestDelay: the longest pause, without jitter.
    ///   - factor: the ratio of each pause to the previous one; 1 or more. Any other number counts as 1.
    ///   - jitter: the random deviation of a pause, as a fraction of it, 0 to 1, so that many devices don't reconnect
    ///     at the same time. More counts as 1, any other number as 0.
    ///   - attempts: the number of retries in a row; `nil`: unlimited; zero or less: none.
    ///   - stableAfter: how long an operation must work before the count of failures restarts, and the pauses begin
    ///     with the shortest again: for a session from ready, for a stream from its first element. Zero: any success is
    ///     enough.
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

    /// The same pause each time, without jitter. See ``exponential(from:to:factor:jitter:attempts:stableAfter:)``.
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

    /// No pauses, and a limited number of retries.
    public static func immediate(attempts: Int) -> RetryPolicy { .constant(.zero, attempts: attempts) }

    /// The pause after the given failure in a row, counted from 1; `nil` if no retry follows.
    ///
    /// - Parameter random: 64 random bits, which determine the jitter.
    package func delay(afterFailure failure: Int, random: UInt64) -> Duration? {
        if let attempts, failure > attempts { return nil }
        let growth = factor.raised(to: failure - 1)
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
    /// A power with an integer exponent; exact if the result can be represented.
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
