public import BLEStreams

/// A measurement of a treadmill (Fitness Machine Service 1.0, 4.4).
///
/// A machine with more fields than fit in one notification sends several, each with some of them; the last one of a
/// record has the speed.
public struct TreadmillData: Hashable, Sendable {
    /// Kilometres per hour; `nil` in all notifications of a record but the last.
    public var speed: Double?
    /// The average speed, in kilometres per hour.
    public var averageSpeed: Double?
    /// Metres, since the session began.
    public var distance: Int?
    /// The slope, in percent.
    public var inclination: Double?
    /// The angle of the ramp, in degrees; `nil` with an inclination: unknown.
    public var rampAngle: Double?
    /// Metres climbed.
    public var ascent: Double?
    /// Metres descended.
    public var descent: Double?
    /// Kilometres per minute, in steps of 0.1.
    public var pace: Double?
    /// The average pace.
    public var averagePace: Double?
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
    /// The force on the belt, in newtons; `nil`: unknown, even if ``power`` is present.
    public var beltForce: Int?
    /// Watts; `nil`: unknown, even if ``beltForce`` is present.
    public var power: Int?

    /// Creates an empty record, for fields to be set.
    public init() {}
}

extension CharacteristicKey where Self == TypedCharacteristic<TreadmillData> {
    /// Treadmill Data, 2ACD: notified about once a second.
    public static var treadmillData: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2ACD),
            decode: TreadmillData.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension TreadmillData {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint16())
        func known(_ value: Int?) -> Int? { value == Int(Int16.max) ? nil : value }
        // The bit is "more data": the speed is present if it is not set.
        speed = try reader.uint16(if: !flags[0]).map { Double($0) / 100 }
        averageSpeed = try reader.uint16(if: flags[1]).map { Double($0) / 100 }
        distance = try reader.uint24(if: flags[2])
        inclination = known(try reader.int16(if: flags[3])).map { Double($0) / 10 }
        rampAngle = known(try reader.int16(if: flags[3])).map { Double($0) / 10 }
        ascent = try reader.uint16(if: flags[4]).map { Double($0) / 10 }
        descent = try reader.uint16(if: flags[4]).map { Double($0) / 10 }
        pace = try reader.uint8(if: flags[5]).map { Double($0) / 10 }
        averagePace = try reader.uint8(if: flags[6]).map { Double($0) / 10 }
        energy = try reader.energy(if: flags[7])
        heartRate = try reader.uint8(if: flags[8])
        metabolicEquivalent = try reader.uint8(if: flags[9]).map { Double($0) / 10 }
        elapsed = try reader.uint16(if: flags[10])
        remaining = try reader.uint16(if: flags[11])
        beltForce = known(try reader.int16(if: flags[12]))
        power = known(try reader.int16(if: flags[12]))
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let (hasSlope, hasElevation) = (inclination != nil || rampAngle != nil, ascent != nil || descent != nil)
        let hasForce = beltForce != nil || power != nil
        let flags: Flags<UInt16> = Flags([
            0: speed == nil, 1: averageSpeed != nil, 2: distance != nil, 3: hasSlope, 4: hasElevation, 5: pace != nil,
            6: averagePace != nil, 7: energy != nil, 8: heartRate != nil, 9: metabolicEquivalent != nil,
            10: elapsed != nil, 11: remaining != nil, 12: hasForce,
        ])
        let unknown = Double(Int16.max)
        writer.uint16(flags.bits)
        try writer.put(speed, by: 100, as: UInt16.self, "the speed")
        try writer.put(averageSpeed, by: 100, as: UInt16.self, "the average speed")
        try writer.put24(distance, "the distance")
        if hasSlope {
            try writer.put(inclination ?? unknown / 10, by: 10, as: Int16.self, "the inclination")
            try writer.put(rampAngle ?? unknown / 10, by: 10, as: Int16.self, "the angle of the ramp")
        }
        if hasElevation {
            try writer.put(ascent ?? 0, by: 10, as: UInt16.self, "the ascent")
            try writer.put(descent ?? 0, by: 10, as: UInt16.self, "the descent")
        }
        try writer.put(pace, by: 10, as: UInt8.self, "the pace")
        try writer.put(averagePace, by: 10, as: UInt8.self, "the average pace")
        try writer.put(energy)
        try writer.put(heartRate, as: UInt8.self, "the heart rate")
        try writer.put(metabolicEquivalent, by: 10, as: UInt8.self, "the metabolic equivalent")
        try writer.put(elapsed, as: UInt16.self, "the elapsed time")
        try writer.put(remaining, as: UInt16.self, "the remaining time")
        if hasForce {
            try writer.put(beltForce ?? Int(Int16.max), as: Int16.self, "the force")
            try writer.put(power ?? Int(Int16.max), as: Int16.self, "the power")
        }
    }
}
