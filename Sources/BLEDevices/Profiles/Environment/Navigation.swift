public import BLEStreams

/// The way to the next waypoint, or to the destination (Location and Navigation Service 1.0, 3.5).
public struct Navigation: Hashable, Sendable {
    /// The direction to go, in degrees from north, in steps of 0.01.
    public var bearing: Double
    /// The direction of the movement, in degrees from north, in steps of 0.01.
    public var heading: Double
    /// Metres to go, in steps of 0.1; `nil` if not reported.
    public var distance: Double?
    /// Metres to go up, in steps of 0.01; negative: down; `nil` if not reported.
    public var vertical: Double?
    /// When the estimated arrival is; `nil` if not reported.
    public var arrival: DateTime?
    /// The quality of the position.
    public var positionStatus: LocationAndSpeed.PositionStatus
    /// Whether a compass measures the heading; otherwise it is the direction of the movement.
    public var isHeadingOfCompass: Bool
    /// Whether the values are about the destination; otherwise about the next waypoint.
    public var isToDestination: Bool
    /// Whether the waypoint has been reached.
    public var isAtWaypoint: Bool
    /// Whether the destination has been reached.
    public var isAtDestination: Bool

    /// Creates a value, for the other fields to be set.
    public init(
        bearing: Double,
        heading: Double,
        distance: Double? = nil,
        vertical: Double? = nil,
        arrival: DateTime? = nil,
        positionStatus: LocationAndSpeed.PositionStatus = .none
    ) {
        (self.bearing, self.heading, self.distance, self.vertical) = (bearing, heading, distance, vertical)
        (self.arrival, self.positionStatus) = (arrival, positionStatus)
        (isHeadingOfCompass, isToDestination, isAtWaypoint, isAtDestination) = (false, false, false, false)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<Navigation> {
    /// Navigation, 2A68: notified about once a second while the device navigates.
    public static var navigation: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2A68),
            decode: Navigation.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension Navigation {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint16())
        self.init(
            bearing: Double(try reader.uint16()) / 100,
            heading: Double(try reader.uint16()) / 100,
            distance: try reader.uint24(if: flags[0]).map { Double($0) / 10 },
            vertical: flags[1] ? Double(try reader.int24()) / 100 : nil,
            arrival: try reader.dateTime(if: flags[2]),
            positionStatus: LocationAndSpeed.PositionStatus(rawValue: flags.pair(at: 3)) ?? .none
        )
        (isHeadingOfCompass, isToDestination) = (flags[5], flags[6])
        (isAtWaypoint, isAtDestination) = (flags[7], flags[8])
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        let flags: Flags<UInt16> = Flags([
            0: distance != nil, 1: vertical != nil, 2: arrival != nil, 5: isHeadingOfCompass, 6: isToDestination,
            7: isAtWaypoint, 8: isAtDestination,
        ])
        writer.uint16(flags.bits | UInt16(positionStatus.rawValue) << 3)
        try writer.put(bearing, by: 100, as: UInt16.self, "the bearing")
        try writer.put(heading, by: 100, as: UInt16.self, "the heading")
        try writer.put24(distance, by: 10, "the distance")
        try writer.putElevation(vertical)
        try writer.put(arrival)
    }
}
