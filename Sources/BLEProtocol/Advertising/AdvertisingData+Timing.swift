extension AdvertisingData {
    /// The connection intervals that a peripheral prefers (Core Specification Supplement, Part A, 1.9).
    package struct ConnectionIntervalRange: Hashable, Sendable {
        /// The shortest, in steps of 1.25 ms; 7.5 ms to 4 s on air; `nil` if the device doesn't state it.
        package let minimum: Duration?
        /// The longest, in steps of 1.25 ms; 7.5 ms to 4 s on air; `nil` if the device doesn't state it.
        package let maximum: Duration?

        /// Makes a range; `nil` leaves an end open.
        package init(minimum: Duration?, maximum: Duration?) {
            self.minimum = minimum
            self.maximum = maximum
        }
    }

    /// The connection intervals that the device prefers as a peripheral, as it sent them.
    package var connectionIntervalRange: ConnectionIntervalRange? {
        guard let number = number(.connectionIntervalRange, octets: 4) else { return nil }
        return ConnectionIntervalRange(
            minimum: Self.interval(UInt16(truncatingIfNeeded: number)),
            maximum: Self.interval(UInt16(truncatingIfNeeded: number >> 16))
        )
    }

    private static func interval(_ units: UInt16) -> Duration? {
        units == 0xFFFF ? nil : .microseconds(1250 * Int64(units))
    }

    /// How often the device advertises, in steps of 0.625 ms, without the random part of up to 10 ms.
    ///
    /// Source: Core Specification Supplement, Part A, 1.15.
    public var advertisingInterval: Duration? {
        let units =
            number(.advertisingInterval, octets: 2)
            ?? number(.advertisingIntervalLong, octets: 4)
            ?? number(.advertisingIntervalLong, octets: 3)
        return units.map { .microseconds(625 * Int64($0)) }
    }
}
