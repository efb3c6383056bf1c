public import BLEStreams

/// The position and speed of a device (Location and Navigation Service 1.0, 3.2).
public struct LocationAndSpeed: Hashable, Sendable {
    /// A position on the earth.
    public struct Place: Hashable, Sendable {
        /// Degrees north of the equator, -90 to 90, in steps of 10⁻⁷.
        public var latitude: Double
        /// Degrees east of Greenwich, -180 to 180, in steps of 10⁻⁷.
        public var longitude: Double

        /// Creates a value from its parts.
        public init(latitude: Double, longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }
    }

    /// The quality of a position.
    public enum PositionStatus: Int, Hashable, Sendable {
        /// Not available.
        case none = 0
        /// Measured.
        case measured
        /// Estimated from an earlier one.
        case estimated
        /// The last known one.
        case lastKnown
    }

    /// Metres per second, in steps of 0.01; `nil` if not reported.
    public var speed: Double?
    /// Metres so far, in steps of 0.1; `nil` if not reported.
    public var distance: Double?
    /// The position; `nil` if not reported.
    public var place: Place?
    /// Metres above the sea, in steps of 0.01; `nil` if not reported.
    public var elevation: Double?
    /// The heading, in degrees from north, in steps of 0.01; `nil` if not reported.
    public var heading: Double?
    /// Seconds since the start; `nil` if not reported.
    public var rollingTime: Int?
    /// When it was measured; `nil` if not reported.
    public var time: DateTime?
    /// The quality of the position.
    public var positionStatus: PositionStatus
    /// Bits 9 to 12 of the flags: whether speed and distance are three-dimensional, the sources of elevation and
    /// heading.
    public var sources: UInt16

    /// Creates an empty value, for fields to be set.
    public init(positionStatus: PositionStatus = .none) { (self.positionStatus, sources) = (positionStatus, 0) }
}

extension CharacteristicKey where Self == TypedCharacteristic<LocationAndSpeed> {
    /// Location and Speed, 2A67: notified about once a second.
    public static var locationAndSpeed: Self {
        TypedCharacteristic(BluetoothUUID(0x2A67)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint16())
            var value = LocationAndSpeed(
                positionStatus: LocationAndSpeed.PositionStatus(rawValue: flags.pair(at: 7)) ?? .none
            )
            value.sources = flags.bits >> 9 & 0x0F
            value.speed = try reader.uint16(if: flags[0]).map { Double($0) / 100 }
            value.distance = try reader.uint24(if: flags[1]).map { Double($0) / 10 }
            if flags[2] {
                let latitude = Double(Int32(bitPattern: try reader.uint32())) / 1e7
                let longitude = Double(Int32(bitPattern: try reader.uint32())) / 1e7
                value.place = LocationAndSpeed.Place(latitude: latitude, longitude: longitude)
            }
            if flags[3] { value.elevation = Double(try reader.int24()) / 100 }
            value.heading = try reader.uint16(if: flags[4]).map { Double($0) / 100 }
            value.rollingTime = try reader.uint8(if: flags[5])
            value.time = try reader.dateTime(if: flags[6])
            return value
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt16> = Flags([
                0: value.speed != nil, 1: value.distance != nil, 2: value.place != nil, 3: value.elevation != nil,
                4: value.heading != nil, 5: value.rollingTime != nil, 6: value.time != nil,
            ])
            writer.uint16(flags.bits | UInt16(value.positionStatus.rawValue) << 7 | (value.sources & 0x0F) << 9)
            try writer.put(value.speed, by: 100, as: UInt16.self, "the speed")
            try writer.put24(value.distance, by: 10, "the distance")
            try writer.put(value.place?.latitude, by: 1e7, as: Int32.self, "the latitude")
            try writer.put(value.place?.longitude, by: 1e7, as: Int32.self, "the longitude")
            try writer.putElevation(value.elevation)
            try writer.put(value.heading, by: 100, as: UInt16.self, "the heading")
            try writer.put(value.rollingTime, as: UInt8.self, "the rolling time")
            try writer.put(value.time)
        }
    }
}
