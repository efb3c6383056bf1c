/// How often the two sides of a link communicate, and how long a silence may last before the link is lost.
///
/// ```swift
/// let services = try await peripheral.withLink(parameters: .fast) { link in try await link.discover() }
/// let patient = try ConnectionParameters(
///     interval: .milliseconds(30) ... .milliseconds(50),
///     supervisionTimeout: .seconds(10)
/// )
/// ```
///
/// Short intervals make a link fast, long ones save both sides' batteries. They are a central's request: the controller
/// chooses an interval within the range, and the peripheral may request others later. Source: Core Specification, Vol
/// 6, Part B, 4.5.1 and 4.5.2.
public struct ConnectionParameters: Hashable, Sendable {
    /// The time between two connection events; in steps of 1.25 ms, rounded up.
    public let interval: ClosedRange<Duration>

    /// How many connection events in a row the peripheral may skip while it has nothing to send.
    public let latency: Int

    /// The silence after which the link is lost; in steps of 10 ms, rounded up.
    public let supervisionTimeout: Duration

    /// The limits for the peripheral's requests; `nil`: none. ``limited(to:)`` sets them.
    public let limits: ConnectionParameters.Limits?

    /// Makes parameters.
    ///
    /// - Parameters:
    ///   - interval: from 7.5 ms to 4 s.
    ///   - latency: from 0 to 499.
    ///   - supervisionTimeout: from 100 ms to 32 s, and longer than twice the longest interval times (1 + `latency`): a
    ///     peripheral that skips as many connection events as it may is heard at least twice.
    /// - Throws: ``BLEError/Code/invalidArgument`` that states which of them is out of bounds, and the bounds.
    public init(interval: ClosedRange<Duration>, latency: Int = 0, supervisionTimeout: Duration) throws(BLEError) {
        guard Self.possibleIntervals.contains(interval) else {
            throw .badParameters("an interval of \(interval)", remedy: "Choose an interval from 7.5 ms to 4 s.")
        }
        guard Self.possibleLatencies.contains(latency) else {
            throw .badParameters("a latency of \(latency)", remedy: "Choose a latency from 0 to 499.")
        }
        guard Self.possibleTimeouts.contains(supervisionTimeout) else {
            throw .badParameters(
                "a supervision timeout of \(supervisionTimeout)",
                remedy: "Choose a supervision timeout from 100 ms to 32 s."
            )
        }
        let longestSilence = interval.upperBound * (1 + latency) * 2
        guard supervisionTimeout > longestSilence else {
            throw .badParameters(
                "a supervision timeout of \(supervisionTimeout) with an interval of up to \(interval.upperBound) and a "
                    + "latency of \(latency)",
                remedy:
                    "Choose a supervision timeout longer than \(longestSilence), a shorter interval or a lower latency."
            )
        }
        self.init(unchecked: interval, latency, supervisionTimeout)
    }

    private init(
        unchecked interval: ClosedRange<Duration>,
        _ latency: Int,
        _ supervisionTimeout: Duration,
        _ limits: ConnectionParameters.Limits? = nil
    ) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
        self.limits = limits
    }

    /// The intervals that a link can have: 7.5 ms to 4 s.
    public static let possibleIntervals: ClosedRange<Duration> = .microseconds(7500) ... .seconds(4)
    /// The numbers of connection events that a peripheral can be allowed to skip: 0 to 499.
    public static let possibleLatencies = 0...499
    /// The silences after which a link can be lost: 100 ms to 32 s.
    public static let possibleTimeouts: ClosedRange<Duration> = .milliseconds(100) ... .seconds(32)

    /// The same parameters with other limits.
    func with(_ limits: ConnectionParameters.Limits?) -> ConnectionParameters {
        ConnectionParameters(unchecked: interval, latency, supervisionTimeout, limits)
    }

    /// The same parameters with a supervision timeout that is 10 ms longer, or 10 ms shorter if that is too long.
    package var withAnotherTimeout: ConnectionParameters {
        let step = Duration.milliseconds(10)
        let longer = supervisionTimeout + step
        let isPossible = longer <= Self.possibleTimeouts.upperBound
        return ConnectionParameters(unchecked: interval, latency, isPossible ? longer : supervisionTimeout - step)
    }
}

extension ConnectionParameters {
    /// For transfers: an interval of 7.5 to 15 ms; the link is lost after 5 s of silence.
    public static let fast = ConnectionParameters(unchecked: .microseconds(7500) ... .milliseconds(15), 0, .seconds(5))

    /// For most programs: an interval of 30 to 50 ms; the link is lost after 5 s of silence.
    ///
    /// The default for an adapter of this machine. Linux's own default has the same interval, but loses a link after
    /// 420 ms.
    public static let balanced = ConnectionParameters(
        unchecked: .milliseconds(30) ... .milliseconds(50),
        0,
        .seconds(5)
    )

    /// For sensors that run on a coin cell: an interval of 100 to 125 ms, and the peripheral may skip two connection
    /// events in a row; the link is lost after 6 s of silence.
    public static let lowPower = ConnectionParameters(
        unchecked: .milliseconds(100) ... .milliseconds(125),
        2,
        .seconds(6)
    )
}

extension ConnectionParameters: CustomStringConvertible {
    /// The parameters in words: `interval 0.03 to 0.05 seconds, latency 0, supervision timeout 5.0 seconds`.
    public var description: String {
        "interval \(interval.lowerBound / .seconds(1)) to \(interval.upperBound), latency \(latency), "
            + "supervision timeout \(supervisionTimeout)" + (limits == nil ? "" : ", limited")
    }
}

extension BLEError {
    fileprivate static func badParameters(_ object: String, remedy: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "connection parameters",
            object: object,
            cause: "no link can have it",
            remedy: remedy
        )
    }
}

extension Duration {
    /// The number of units of 1.25 ms, rounded up, in which intervals are encoded on air.
    package var intervalUnits: UInt16 { units(of: .microseconds(1250)) }

    /// The number of units of 10 ms, rounded up, in which supervision timeouts are encoded on air.
    package var timeoutUnits: UInt16 { units(of: .milliseconds(10)) }

    private func units(of unit: Duration) -> UInt16 {
        UInt16(clamping: (attoseconds + unit.attoseconds - 1) / unit.attoseconds)
    }
}
