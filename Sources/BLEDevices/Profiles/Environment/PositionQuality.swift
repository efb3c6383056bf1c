public import BLEStreams

/// How good a position is (Location and Navigation Service 1.0, 3.3). A field is `nil` if it isn't reported.
public struct PositionQuality: Hashable, Sendable {
    /// How many satellites or other beacons the position is computed from.
    public var beaconsInSolution: Int?
    /// How many are in view.
    public var beaconsInView: Int?
    /// How long the first position took, in seconds, in steps of 0.1.
    public var timeToFirstFix: Double?
    /// The estimated horizontal error in metres, in steps of 0.01.
    public var horizontalError: Double?
    /// The estimated vertical error in metres, in steps of 0.01.
    public var verticalError: Double?
    /// The horizontal dilution of precision, in steps of 0.2.
    public var horizontalDilution: Double?
    /// The vertical dilution of precision, in steps of 0.2.
    public var verticalDilution: Double?
    /// The quality in a word.
    public var positionStatus: LocationAndSpeed.PositionStatus

    /// Creates an empty value, for fields to be set.
    public init(positionStatus: LocationAndSpeed.PositionStatus = .none) { self.positionStatus = positionStatus }
}

extension CharacteristicKey where Self == TypedCharacteristic<PositionQuality> {
    /// Position Quality, 2A69: read.
    public static var positionQuality: Self {
        TypedCharacteristic(BluetoothUUID(0x2A69)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint16())
            let status = LocationAndSpeed.PositionStatus(rawValue: flags.pair(at: 7)) ?? .none
            var value = PositionQuality(positionStatus: status)
            value.beaconsInSolution = try reader.uint8(if: flags[0])
            value.beaconsInView = try reader.uint8(if: flags[1])
            value.timeToFirstFix = try reader.uint16(if: flags[2]).map { Double($0) / 10 }
            value.horizontalError = try reader.uint32(if: flags[3]).map { Double($0) / 100 }
            value.verticalError = try reader.uint32(if: flags[4]).map { Double($0) / 100 }
            value.horizontalDilution = try reader.uint8(if: flags[5]).map { Double($0) / 5 }
            value.verticalDilution = try reader.uint8(if: flags[6]).map { Double($0) / 5 }
            return value
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt16> = Flags([
                0: value.beaconsInSolution != nil, 1: value.beaconsInView != nil, 2: value.timeToFirstFix != nil,
                3: value.horizontalError != nil, 4: value.verticalError != nil, 5: value.horizontalDilution != nil,
                6: value.verticalDilution != nil,
            ])
            writer.uint16(flags.bits | UInt16(value.positionStatus.rawValue) << 7)
            try writer.put(value.beaconsInSolution, as: UInt8.self, "the beacons in the solution")
            try writer.put(value.beaconsInView, as: UInt8.self, "the beacons in view")
            try writer.put(value.timeToFirstFix, by: 10, as: UInt16.self, "the time to the first fix")
            try writer.put(value.horizontalError, by: 100, as: UInt32.self, "the horizontal error")
            try writer.put(value.verticalError, by: 100, as: UInt32.self, "the vertical error")
            try writer.put(value.horizontalDilution, by: 5, as: UInt8.self, "the horizontal dilution")
            try writer.put(value.verticalDilution, by: 5, as: UInt8.self, "the vertical dilution")
        }
    }
}
