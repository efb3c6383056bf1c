import BLEStreams

/// The energy that a user of a machine has spent (Fitness Machine Service 1.0).
public struct ExpendedEnergy: Hashable, Sendable {
    /// Kilocalories so far; `nil`: unknown.
    public var total: Int?
    /// Kilocalories per hour; `nil`: unknown.
    public var perHour: Int?
    /// Kilocalories per minute; `nil`: unknown.
    public var perMinute: Int?

    /// Creates a value from its parts.
    public init(total: Int?, perHour: Int? = nil, perMinute: Int? = nil) {
        (self.total, self.perHour, self.perMinute) = (total, perHour, perMinute)
    }
}

extension ValueReader {
    mutating func energy(if isThere: Bool) throws(MalformedValue) -> ExpendedEnergy? {
        guard isThere else { return nil }
        let (total, hour, minute) = (try uint16(), try uint16(), try uint8())
        return ExpendedEnergy(
            total: total == .max ? nil : Int(total),
            perHour: hour == .max ? nil : Int(hour),
            perMinute: minute == .max ? nil : Int(minute)
        )
    }
}

extension ValueWriter {
    mutating func put(_ energy: ExpendedEnergy?) throws(MalformedValue) {
        guard let energy else { return }
        try put(energy.total ?? 0xFFFF, as: UInt16.self, "the energy")
        try put(energy.perHour ?? 0xFFFF, as: UInt16.self, "the energy of an hour")
        try put(energy.perMinute ?? 0xFF, as: UInt8.self, "the energy of a minute")
    }
}
