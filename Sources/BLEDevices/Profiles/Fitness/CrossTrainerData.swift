public import BLEStreams

/// A measurement of a cross trainer (Fitness Machine Service 1.0, 4.5).
///
/// A machine with more fields than fit in one notification sends several, each with some of them; the last one of a
/// record has the speed.
public struct CrossTrainerData: Hashable, Sendable {
    /// Kilometres per hour; `nil` in all notifications of a record but the last.
    public var speed: Double?
    /// The average speed, in kilometres per hour.
    public var averageSpeed: Double?
    /// Metres, since the session began.
    public var distance: Int?
    /// Steps per minute.
    public var stepRate: Int?
    /// The average step rate.
    public var averageStepRate: Int?
    /// Pairs of steps since the session began, in steps of 0.1.
    public var strideCount: Double?
    /// Metres climbed.
    public var ascent: Int?
    /// Metres descended.
    public var descent: Int?
    /// The slope, in percent.
    public var inclination: Double?
    /// The angle of the ramp, in degrees; `nil` with an inclination: unknown.
    public var rampAngle: Double?
    /// The resistance, without a unit.
    public var resistance: Double?
    /// Watts.
    public var power: Int?
    /// The average power, in watts.
    public var averagePower: Int?
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
    /// Whether the user moves backwards.
    public var isBackward = false

    /// Creates an empty record, for fields to be set.
    public init() {}
}

extension CharacteristicKey where Self == TypedCharacteristic<CrossTrainerData> {
    /// Cross Trainer Data, 2ACE: notified about once a second.
    public static var crossTrainerData: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2ACE),
            decode: CrossTrainerData.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension CrossTrainerData {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        // The only record of a fitness machine with three octets of flags.
        let flags = Flags(try reader.uint24())
        func known(_ value: Int?) -> Int? { value == Int(Int16.max) ? nil : value }
        // The bit is "more data": the speed is present if it is not set.
        speed = try reader.uint16(if: !flags[0]).map { Double($0) / 100 }
        averageSpeed = try reader.uint16(if: flags[1]).map { Double($0) / 100 }
        distance = try reader.uint24(if: flags[2])
        stepRate = try reader.uint16(if: flags[3])
        averageStepRate = try reader.uint16(if: flags[3])
        strideCount = try reader.uint16(if: flags[4]).map { Double($0) / 10 }
        ascent = try reader.uint16(if: flags[5])
        descent = try reader.uint16(if: flags[5])
        inclination = known(try reader.int16(if: flags[6])).map { Double($0) / 10 }
        rampAngle = known(try reader.int16(if: flags[6])).map { Double($0) / 10 }
        resistance = try reader.int16(if: flags[7]).map { Double($0) / 10 }
        power = try reader.int16(if: flags[8])
        averagePower = try reader.int16(if: flags[9])
        energy = try reader.energy(if: flags[10])
        heartRate = try reader.uint8(if: flags[11])
        metabolicEquivalent = try reader.uint8(if: flags[12]).map { Double($0) / 10 }
        elapsed = try reader.uint16(if: flags[13])
        remaining = try reader.uint16(if: flags[14])
        isBackward = flags[15]
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let (hasSteps, hasElevation) = (stepRate != nil || averageStepRate != nil, ascent != nil || descent != nil)
        let hasSlope = inclination != nil || rampAngle != nil
        let flags: Flags<UInt32> = Flags([
            0: speed == nil, 1: averageSpeed != nil, 2: distance != nil, 3: hasSteps, 4: strideCount != nil,
            5: hasElevation, 6: hasSlope, 7: resistance != nil, 8: power != nil, 9: averagePower != nil,
            10: energy != nil, 11: heartRate != nil, 12: metabolicEquivalent != nil, 13: elapsed != nil,
            14: remaining != nil, 15: isBackward,
        ])
        let unknown = Double(Int16.max) / 10
        writer.uint24(flags.bits)
        try writer.put(speed, by: 100, as: UInt16.self, "the speed")
        try writer.put(averageSpeed, by: 100, as: UInt16.self, "the average speed")
        try writer.put24(distance, "the distance")
        if hasSteps {
            try writer.put(stepRate ?? 0, as: UInt16.self, "the step rate")
            try writer.put(averageStepRate ?? 0, as: UInt16.self, "the average step rate")
        }
        try writer.put(strideCount, by: 10, as: UInt16.self, "the number of strides")
        if hasElevation {
            try writer.put(ascent ?? 0, as: UInt16.self, "the ascent")
            try writer.put(descent ?? 0, as: UInt16.self, "the descent")
        }
        if hasSlope {
            try writer.put(inclination ?? unknown, by: 10, as: Int16.self, "the inclination")
            try writer.put(rampAngle ?? unknown, by: 10, as: Int16.self, "the angle of the ramp")
        }
        try writer.put(resistance, by: 10, as: Int16.self, "the resistance")
        try writer.put(power, as: Int16.self, "the power")
        try writer.put(averagePower, as: Int16.self, "the average power")
        try writer.put(energy)
        try writer.put(heartRate, as: UInt8.self, "the heart rate")
        try writer.put(metabolicEquivalent, by: 10, as: UInt8.self, "the metabolic equivalent")
        try writer.put(elapsed, as: UInt16.self, "the elapsed time")
        try writer.put(remaining, as: UInt16.self, "the remaining time")
    }
}
