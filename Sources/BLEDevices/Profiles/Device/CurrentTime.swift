public import BLEStreams

/// The time of a clock, and why it was last set (Current Time Service 1.1, Current Time).
public struct CurrentTime: Hashable, Sendable {
    /// Why a clock was set.
    public struct AdjustReason: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// A person set it.
        public static let manual = AdjustReason(rawValue: 1)
        /// A reference clock set it.
        public static let externalReference = AdjustReason(rawValue: 2)
        /// The time zone has changed.
        public static let timeZone = AdjustReason(rawValue: 4)
        /// Daylight saving time has begun or ended.
        public static let daylightSaving = AdjustReason(rawValue: 8)
    }

    /// The date and the time of day.
    public var dateTime: DateTime
    /// 1, Monday, to 7, Sunday; 0: unknown.
    public var dayOfWeek: Int
    /// Parts of a second, in 1/256 s.
    public var fractions: UInt8
    /// Why it was last set; empty if the value is not due to an adjustment.
    public var adjustReason: AdjustReason

    /// Creates a value from its parts.
    public init(_ dateTime: DateTime, dayOfWeek: Int = 0, fractions: UInt8 = 0, adjustReason: AdjustReason = []) {
        (self.dateTime, self.dayOfWeek) = (dateTime, dayOfWeek)
        (self.fractions, self.adjustReason) = (fractions, adjustReason)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<CurrentTime> {
    /// Current Time, 2A2B: read, notified when the clock is set, and written to set it.
    public static var currentTime: Self {
        TypedCharacteristic(.Characteristics.currentTime) { reader throws(MalformedValue) in
            CurrentTime(
                try reader.dateTime(),
                dayOfWeek: Int(try reader.uint8()),
                fractions: try reader.uint8(),
                adjustReason: CurrentTime.AdjustReason(rawValue: try reader.uint8())
            )
        } encode: { time, writer throws(MalformedValue) in
            try writer.dateTime(time.dateTime)
            try writer.put(time.dayOfWeek, as: UInt8.self, "the day of the week")
            writer.uint8(time.fractions)
            writer.uint8(time.adjustReason.rawValue)
        }
    }
}
