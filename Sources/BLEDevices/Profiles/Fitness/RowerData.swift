public import BLEStreams

/// A measurement of a rowing machine (Fitness Machine Service 1.0, 4.8).
///
/// A machine with more fields than fit in one notification sends several, each with some of them; the last one of a
/// record has the strokes.
public struct RowerData: Hashable, Sendable {
    /// Strokes per minute, in steps of 0.5; `nil` in all notifications of a record but the last.
    public var strokeRate: Double?
    /// Strokes since the session began; `nil` as ``strokeRate``.
    public var strokeCount: Int?
    /// The average stroke rate.
    public var averageStrokeRate: Double?
    /// Metres, since the session began.
    public var distance: Int?
    /// Seconds per 500 metres.
    public var pace: Int?
    /// The average pace.
    public var averagePace: Int?
    /// Watts.
    public var power: Int?
    /// The average power, in watts.
    public var averagePower: Int?
    /// The resistance, without a unit.
    public var resistance: Int?
    /// The energy spent.
    public var energy: ExpendedEnergy?
    /// Beats per minute.
    public var heartRate: Int?
    /// Metabolic equivalents.
    public var metabolicEquivalent: Double?
    /// Since the session began, in seconds.
    public var elapsed: Int?
    /// Until the session ends, in seconds.
    public var remaining: Int?

    /// Creates an empty record, for fields to be set.
    public init() {}
}

extension CharacteristicKey where Self == TypedCharacteristic<RowerData> {
    /// Rower Data, 2AD1: notified about once a second.
    public static var rowerData: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2AD1),
            decode: RowerData.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension RowerData {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint16())
        // The bit is "more data": the strokes are present if it is not set.
        strokeRate = try reader.uint8(if: !flags[0]).map { Double($0) / 2 }
        strokeCount = try reader.uint16(if: !flags[0])
        averageStrokeRate = try reader.uint8(if: flags[1]).map { Double($0) / 2 }
        distance = try reader.uint24(if: flags[2])
        pace = try reader.uint16(if: flags[3])
        averagePace = try reader.uint16(if: flags[4])
        power = try reader.int16(if: flags[5])
        averagePower = try reader.int16(if: flags[6])
        resistance = try reader.int16(if: flags[7])
        energy = try reader.energy(if: flags[8])
        heartRate = try reader.uint8(if: flags[9])
        metabolicEquivalent = try reader.uint8(if: flags[10]).map { Double($0) / 10 }
        elapsed = try reader.uint16(if: flags[11])
        remaining = try reader.uint16(if: flags[12])
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let hasStrokes = strokeRate != nil || strokeCount != nil
        let flags: Flags<UInt16> = Flags([
            0: !hasStrokes, 1: averageStrokeRate != nil, 2: distance != nil, 3: pace != nil, 4: averagePace != nil,
            5: power != nil, 6: averagePower != nil, 7: resistance != nil, 8: energy != nil, 9: heartRate != nil,
            10: metabolicEquivalent != nil, 11: elapsed != nil, 12: remaining != nil,
        ])
        writer.uint16(flags.bits)
        if hasStrokes {
            try writer.put(strokeRate ?? 0, by: 2, as: UInt8.self, "the stroke rate")
            try writer.put(strokeCount ?? 0, as: UInt16.self, "the number of strokes")
        }
        try writer.put(averageStrokeRate, by: 2, as: UInt8.self, "the average stroke rate")
        try writer.put24(distance, "the distance")
        try writer.put(pace, as: UInt16.self, "the pace")
        try writer.put(averagePace, as: UInt16.self, "the average pace")
        try writer.put(power, as: Int16.self, "the power")
        try writer.put(averagePower, as: Int16.self, "the average power")
        try writer.put(resistance, as: Int16.self, "the resistance")
        try writer.put(energy)
        try writer.put(heartRate, as: UInt8.self, "the heart rate")
        try writer.put(metabolicEquivalent, by: 10, as: UInt8.self, "the metabolic equivalent")
        try writer.put(elapsed, as: UInt16.self, "the elapsed time")
        try writer.put(remaining, as: UInt16.self, "the remaining time")
    }
}
