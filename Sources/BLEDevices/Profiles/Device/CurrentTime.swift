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

/// The offset of local time from UTC (Current Time Service 1.1, Local Time Information).
public struct LocalTimeInformation: Hashable, Sendable {
    /// The offset of standard time from UTC, in quarters of an hour, -48 to 56; `nil`: unknown.
    public var quarterHours: Int?
    /// The current daylight saving offset, in quarters of an hour: 0, 2, 4 or 8; `nil`: unknown.
    public var daylightSavingQuarterHours: Int?

    /// Creates an offset from its values.
    public init(quarterHours: Int?, daylightSavingQuarterHours: Int?) {
        (self.quarterHours, self.daylightSavingQuarterHours) = (quarterHours, daylightSavingQuarterHours)
    }

    /// Local time minus UTC; `nil` if a part is unknown.
    public var offset: Duration? {
        guard let quarterHours, let daylightSavingQuarterHours else { return nil }
        return .seconds(900 * (quarterHours + daylightSavingQuarterHours))
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<LocalTimeInformation> {
    /// Local Time Information, 2A0F.
    public static var localTimeInformation: Self {
        TypedCharacteristic(BluetoothUUID(0x2A0F)) { reader throws(MalformedValue) in
            let zone = Int(try reader.int8())
            let saving = Int(try reader.uint8())
            return LocalTimeInformation(
                quarterHours: zone == -128 ? nil : zone,
                daylightSavingQuarterHours: saving == 255 ? nil : saving
            )
        } encode: { information, writer throws(MalformedValue) in
            try writer.put(information.quarterHours ?? -128, as: Int8.self, "the time zone")
            try writer.put(information.daylightSavingQuarterHours ?? 255, as: UInt8.self, "daylight saving time")
        }
    }
}
