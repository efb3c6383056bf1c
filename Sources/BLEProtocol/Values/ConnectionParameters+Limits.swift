extension ConnectionParameters {
    /// Limits for a link when its peripheral requests other connection parameters.
    ///
    /// ```swift
    /// let limits = try ConnectionParameters.Limits(interval: .milliseconds(15) ... .milliseconds(100))
    /// let central = try await Central.open(parameters: ConnectionParameters.balanced.limited(to: limits))
    /// ```
    ///
    /// Linux grants every valid request of a peripheral and lets no program answer it. So the link is watched: when the
    /// peripheral's request has taken it beyond the limits, the program's own parameters are requested again, at most
    /// ``corrections`` times in a row; then the link stays as the peripheral wants it. ``LinkConditions/breach``
    /// reports both. Source: kernel, `net/bluetooth/l2cap_core.c`, `l2cap_conn_param_update_req`.
    public struct Limits: Hashable, Sendable {
        /// The time between two connection events.
        public let interval: ClosedRange<Duration>

        /// The most connection events that the peripheral may skip in a row.
        public let latency: Int

        /// The silence after which the link is lost.
        public let supervisionTimeout: ClosedRange<Duration>

        /// How often the program's own parameters are requested again. The count restarts when the link has been within
        /// the limits for a minute.
        public let corrections: Int

        /// Makes limits; omitted values are not limited.
        ///
        /// - Parameters:
        ///   - interval: within 7.5 ms to 4 s.
        ///   - latency: 0 to 499.
        ///   - supervisionTimeout: within 100 ms to 32 s.
        ///   - corrections: how often to request again; 0: breaches are only reported.
        /// - Throws: ``BLEError/Code/invalidArgument`` that states which of them is out of bounds, and the bounds.
        public init(
            interval: ClosedRange<Duration> = ConnectionParameters.possibleIntervals,
            latency: Int = ConnectionParameters.possibleLatencies.upperBound,
            supervisionTimeout: ClosedRange<Duration> = ConnectionParameters.possibleTimeouts,
            corrections: Int = 3
        ) throws(BLEError) {
            guard ConnectionParameters.possibleIntervals.contains(interval) else {
                throw .badLimits("an interval of \(interval)", remedy: "Choose intervals from 7.5 ms to 4 s.")
            }
            guard ConnectionParameters.possibleLatencies.contains(latency) else {
                throw .badLimits("a latency of \(latency)", remedy: "Choose a latency from 0 to 499.")
            }
            guard ConnectionParameters.possibleTimeouts.contains(supervisionTimeout) else {
                throw .badLimits(
                    "a supervision timeout of \(supervisionTimeout)",
                    remedy: "Choose supervision timeouts from 100 ms to 32 s."
                )
            }
            guard corrections >= 0 else {
                throw .badLimits("\(corrections) corrections", remedy: "Choose a number of 0 or more.")
            }
            self.interval = interval
            self.latency = latency
            self.supervisionTimeout = supervisionTimeout
            self.corrections = corrections
        }

        /// Whether a link is beyond the limits, as far as that is known.
        package func areExceeded(by conditions: LinkConditions) -> Bool {
            conditions.interval.map { !interval.contains($0) } ?? false
                || conditions.latency.map { $0 > latency } ?? false
                || conditions.supervisionTimeout.map { !supervisionTimeout.contains($0) } ?? false
        }

        /// Whether a link with these parameters is within the limits, whichever interval the controller chooses.
        fileprivate func allow(_ parameters: ConnectionParameters) -> Bool {
            interval.contains(parameters.interval) && parameters.latency <= latency
                && supervisionTimeout.contains(parameters.supervisionTimeout)
        }
    }
}

extension ConnectionParameters {
    /// The same parameters, with limits for the peripheral's requests.
    ///
    /// Links with these limits are watched while they are up. On Linux, seeing a link's changes requires `CAP_NET_RAW`,
    /// requesting its parameters again requires `CAP_NET_ADMIN`, and Linux 6.11 for the request to take effect;
    /// ``LinkConditions/breach`` and ``LinkConditions/whyIncomplete`` state what is missing.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` if the parameters themselves are beyond the limits.
    public func limited(to limits: ConnectionParameters.Limits) throws(BLEError) -> ConnectionParameters {
        guard limits.allow(self) else {
            throw .badLimits("for \(self)", remedy: "Choose limits that include the requested parameters.")
        }
        return with(limits)
    }
}

extension BLEError {
    fileprivate static func badLimits(_ object: String, remedy: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "connection limits",
            object: object,
            cause: "no link can satisfy them",
            remedy: remedy
        )
    }
}
