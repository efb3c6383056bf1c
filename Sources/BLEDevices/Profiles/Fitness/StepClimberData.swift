public import BLEStreams

/// A measurement of a step climber (Fitness Machine Service 1.0, 4.6).
///
/// A machine with more fields than fit in one notification sends several, each with some of them; the last one of a
/// record has the floors and the steps.
public struct StepClimberData: Hashable, Sendable {
    /// Floors since the session began; `nil` in all notifications of a record but the last.
    public var floors: Int?
    /// Steps since the session began; `nil` as ``floors``.
    public var stepCount: Int?
    /// Steps per minute.
    public var stepRate: Int?
    /// The average step rate.
    public var averageStepRate: Int?
    /// Metres climbed.
    public var ascent: Int?
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

extension CharacteristicKey where Self == TypedCharacteristic<StepClimberData> {
    /// Step Climber Data, 2ACF: notified about once a second.
    public static var stepClimberData: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2ACF),
            decode: StepClimberData.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension StepClimberData {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint16())
        // The bit is "more data": the floors and the steps are present if it is not set.
        floors = try reader.uint16(if: !flags[0])
        stepCount = try reader.uint16(if: !flags[0])
        stepRate = try reader.uint16(if: flags[1])
        averageStepRate = try reader.uint16(if: flags[2])
        ascent = try reader.uint16(if: flags[3])
        energy = try reader.energy(if: flags[4])
        heartRate = try reader.uint8(if: flags[5])
        metabolicEquivalent = try reader.uint8(if: flags[6]).map { Double($0) / 10 }
        elapsed = try reader.uint16(if: flags[7])
        remaining = try reader.uint16(if: flags[8])
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let hasSteps = floors != nil || stepCount != nil
        let flags: Flags<UInt16> = Flags([
            0: !hasSteps, 1: stepRate != nil, 2: averageStepRate != nil, 3: ascent != nil, 4: energy != nil,
            5: heartRate != nil, 6: metabolicEquivalent != nil, 7: elapsed != nil, 8: remaining != nil,
        ])
        writer.uint16(flags.bits)
        if hasSteps {
            try writer.put(floors ?? 0, as: UInt16.self, "the number of floors")
            try writer.put(stepCount ?? 0, as: UInt16.self, "the number of steps")
        }
        try writer.put(stepRate, as: UInt16.self, "the step rate")
        try writer.put(averageStepRate, as: UInt16.self, "the average step rate")
        try writer.put(ascent, as: UInt16.self, "the ascent")
        try writer.put(energy)
        try writer.put(heartRate, as: UInt8.self, "the heart rate")
        try writer.put(metabolicEquivalent, by: 10, as: UInt8.self, "the metabolic equivalent")
        try writer.put(elapsed, as: UInt16.self, "the elapsed time")
        try writer.put(remaining, as: UInt16.self, "the remaining time")
    }
}
