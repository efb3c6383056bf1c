/// What a peripheral may make of a link by asking for other connection parameters.
///
/// ```swift
/// let limits = try ConnectionLimits(interval: .milliseconds(15) ... .milliseconds(100))
/// let central = try await Central.open(parameters: ConnectionParameters.balanced.limited(to: limits))
/// ```
///
/// Linux grants by itself whatever a peripheral asks for, as long as a link can have it, and lets no program answer. So
/// the link is watched: when the peripheral has taken it beyond the limits, the program's own parameters are asked for
/// again, at most ``corrections`` times in a row; then the link stays as the peripheral wants it.
/// ``LinkConditions/breach`` tells of both.
/// Source: kernel, `net/bluetooth/l2cap_core.c`, `l2cap_conn_param_update_req`.
public struct ConnectionLimits: Hashable, Sendable {
    /// The time between two meetings.
    public let interval: ClosedRange<Duration>

    /// The most meetings that the peripheral may miss in a row.
    public let latency: Int

    /// The silence after which the link is lost.
    public let supervisionTimeout: ClosedRange<Duration>

    /// How often the program's own parameters are asked for again. It is counted anew when the link has been within the
    /// limits for a minute.
    public let corrections: Int

    /// Sets limits; what isn't said is not limited.
    ///
    /// - Parameters:
    ///   - interval: within 7.5 ms to 4 s.
    ///   - latency: 0 to 499.
    ///   - supervisionTimeout: within 100 ms to 32 s.
    ///   - corrections: how often to ask again; 0: breaches are only told.
    /// - Throws: ``BLEError/Code/invalidArgument`` that says which of them is out of bounds, and what the bounds are.
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
            throw .badLimits("\(corrections) corrections", remedy: "Choose a number from 0 on.")
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

extension ConnectionParameters {
    /// The same parameters, and what the peripheral may make of them.
    ///
    /// Links within these limits are watched for as long as they are up. On Linux it takes `CAP_NET_RAW` to see what becomes
    /// of a link, `CAP_NET_ADMIN` to ask for its parameters again, and Linux 6.11 for that to change it; what is missing
    /// stands in ``LinkConditions/breach`` and ``LinkConditions/whyIncomplete``.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` where the parameters themselves are beyond the limits.
    public func limited(to limits: ConnectionLimits) throws(BLEError) -> ConnectionParameters {
        guard limits.allow(self) else {
            throw .badLimits("for \(self)", remedy: "Choose limits that allow the parameters which are asked for.")
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
            cause: "no link could keep to them",
            remedy: remedy
        )
    }
}
