public import BLEStreams

/// A measurement of a power meter (Cycling Power Service 1.1, 3.2).
public struct CyclingPowerMeasurement: Hashable, Sendable {
    /// A least and a greatest value over one revolution of the crank.
    public struct Extremes: Hashable, Sendable {
        /// The greatest value.
        public var maximum: Int
        /// The least value.
        public var minimum: Int

        /// Creates a value from its parts.
        public init(maximum: Int, minimum: Int) { (self.maximum, self.minimum) = (maximum, minimum) }
    }

    /// The power, in watts.
    public var power: Int
    /// The left pedal's share of the power, in percent; `nil` if not reported.
    public var balance: Double?
    /// Whether the balance refers to the left pedal; otherwise the pedal is unknown.
    public var isBalanceOfLeft: Bool
    /// The accumulated torque, in newton metres; wraps at 2,048.
    public var torque: Double?
    /// Whether the torque is measured at the crank; otherwise at the wheel.
    public var isTorqueOfCrank: Bool
    /// The revolutions of the wheel; their time counts 1/2048 s.
    public var wheel: CyclingMeasurement.Revolutions?
    /// The revolutions of the crank; their time counts 1/1024 s.
    public var crank: CyclingMeasurement.Revolutions?
    /// The extremes of the force, in newtons.
    public var forces: Extremes?
    /// The extremes of the torque, in 1/32 newton metres.
    public var torques: Extremes?
    /// The crank angles of the extremes, in degrees.
    public var angles: Extremes?
    /// The angle of the crank at the top dead spot, in degrees.
    public var topDeadSpot: Int?
    /// The angle of the crank at the bottom dead spot, in degrees.
    public var bottomDeadSpot: Int?
    /// The energy so far, in kilojoules; wraps at 2¹⁶.
    public var energy: Int?
    /// Whether the offset compensation is under way.
    public var isCompensating: Bool

    /// Creates a measurement from its values.
    public init(power: Int) {
        self.power = power
        (isBalanceOfLeft, isTorqueOfCrank, isCompensating) = (false, false, false)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingPowerMeasurement> {
    /// Cycling Power Measurement, 2A63: notified about once a second.
    public static var cyclingPowerMeasurement: Self {
        TypedCharacteristic(
            .Characteristics.cyclingPowerMeasurement,
            decode: CyclingPowerMeasurement.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension CyclingPowerMeasurement {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint16())
        self.init(power: Int(try reader.int16()))
        balance = try reader.uint8(if: flags[0]).map { Double($0) / 2 }
        isBalanceOfLeft = flags[1]
        torque = try reader.uint16(if: flags[2]).map { Double($0) / 32 }
        isTorqueOfCrank = flags[3]
        wheel = try reader.wheel(if: flags[4])
        crank = try reader.crank(if: flags[5])
        if flags[6] { forces = Extremes(maximum: Int(try reader.int16()), minimum: Int(try reader.int16())) }
        if flags[7] { torques = Extremes(maximum: Int(try reader.int16()), minimum: Int(try reader.int16())) }
        if flags[8] {
            let both = try reader.uint24()
            angles = Extremes(maximum: Int(both & 0xFFF), minimum: Int(both >> 12))
        }
        topDeadSpot = try reader.uint16(if: flags[9])
        bottomDeadSpot = try reader.uint16(if: flags[10])
        energy = try reader.uint16(if: flags[11])
        isCompensating = flags[12]
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let flags: Flags<UInt16> = Flags([
            0: balance != nil, 1: isBalanceOfLeft, 2: torque != nil, 3: isTorqueOfCrank, 4: wheel != nil,
            5: crank != nil, 6: forces != nil, 7: torques != nil, 8: angles != nil, 9: topDeadSpot != nil,
            10: bottomDeadSpot != nil, 11: energy != nil, 12: isCompensating,
        ])
        writer.uint16(flags.bits)
        try writer.put(power, as: Int16.self, "the power")
        try writer.put(balance, by: 2, as: UInt8.self, "the balance")
        try writer.put(torque, by: 32, as: UInt16.self, "the torque")
        try writer.putWheel(wheel)
        try writer.putCrank(crank)
        for extremes in [forces, torques] {
            try writer.put(extremes?.maximum, as: Int16.self, "the greatest value")
            try writer.put(extremes?.minimum, as: Int16.self, "the least value")
        }
        if let angles {
            guard (0...0xFFF).contains(angles.maximum), (0...0xFFF).contains(angles.minimum) else {
                throw MalformedValue("the angles are not between 0 and \(0xFFF)")
            }
            writer.uint24(UInt32(angles.maximum | angles.minimum << 12))
        }
        try writer.put(topDeadSpot, as: UInt16.self, "the angle of the top dead spot")
        try writer.put(bottomDeadSpot, as: UInt16.self, "the angle of the bottom dead spot")
        try writer.put(energy, as: UInt16.self, "the energy")
    }
}
