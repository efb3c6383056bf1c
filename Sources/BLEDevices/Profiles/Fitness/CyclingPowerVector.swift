public import BLEStreams

/// The forces or torques during a revolution of the crank (Cycling Power Service 1.1, 3.6).
public struct CyclingPowerVector: Hashable, Sendable {
    /// Values at equal intervals of time, of which ``CyclingPowerControl/requestSamplingRate`` tells the rate.
    public enum Magnitudes: Hashable, Sendable {
        /// Forces in newtons.
        case forces([Int])
        /// Torques in newton metres, in steps of 1/32.
        case torques([Double])
    }

    /// The direction in which the magnitudes are measured.
    public enum Direction: Int, Hashable, Sendable {
        /// The meter doesn't tell.
        case unknown = 0
        /// Along the movement of the pedal.
        case tangential
        /// Along the crank.
        case radial
        /// Along the axis.
        case lateral
    }

    /// The revolutions of the crank; their time counts 1/1024 s; `nil` if not reported.
    public var crank: CyclingMeasurement.Revolutions?
    /// The angle of the crank at the first magnitude, in degrees; `nil` if not reported.
    public var firstAngle: Int?
    /// The magnitudes; `nil` if not reported.
    public var magnitudes: Magnitudes?
    /// Their direction.
    public var direction: Direction

    /// Creates a value from its parts.
    public init(
        crank: CyclingMeasurement.Revolutions? = nil,
        firstAngle: Int? = nil,
        magnitudes: Magnitudes? = nil,
        direction: Direction = .unknown
    ) {
        (self.crank, self.firstAngle, self.magnitudes, self.direction) = (crank, firstAngle, magnitudes, direction)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingPowerVector> {
    /// Cycling Power Vector, 2A64: notified about once a revolution.
    public static var cyclingPowerVector: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2A64),
            decode: CyclingPowerVector.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension CyclingPowerVector {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint8())
        // Each number of two bits has a meaning.
        self.init(
            crank: try reader.crank(if: flags[0]),
            firstAngle: try reader.uint16(if: flags[1]),
            direction: Direction(rawValue: flags.pair(at: 4)) ?? .unknown
        )
        guard flags[2] || flags[3] else { return }
        guard flags[2] != flags[3] else { throw MalformedValue("it has forces and torques") }
        var steps: [Int] = []
        while !reader.isAtEnd { steps.append(Int(try reader.int16())) }
        magnitudes = flags[2] ? .forces(steps) : .torques(steps.map { Double($0) / 32 })
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let areTorques = if case .torques = magnitudes { true } else { false }
        let flags: Flags<UInt8> = Flags([
            0: crank != nil, 1: firstAngle != nil, 2: magnitudes != nil && !areTorques, 3: areTorques,
        ])
        writer.uint8(flags.bits | UInt8(direction.rawValue) << 4)
        try writer.putCrank(crank)
        try writer.put(firstAngle, as: UInt16.self, "the angle")
        switch magnitudes {
        case .forces(let forces): for force in forces { try writer.put(force, as: Int16.self, "the force") }
        case .torques(let torques):
            for torque in torques { try writer.put(torque, by: 32, as: Int16.self, "the torque") }
        case nil: break
        }
    }
}
