public import BLEStreams

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
