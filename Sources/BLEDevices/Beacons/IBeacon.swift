public import BLEProtocol

/// A beacon in Apple's format: a UUID for all of a company's beacons, and two numbers.
///
/// ```swift
/// for try await device in central.scan() {
///     if let beacon = IBeacon(device.advertisement) { print(beacon.uuid, beacon.major, beacon.minor) }
/// }
/// ```
///
/// Source: Apple, Proximity Beacon Specification, release R1.
public struct IBeacon: Hashable, Sendable {
    /// The set of beacons it belongs to.
    public var uuid: BluetoothUUID
    /// The group within the set.
    public var major: UInt16
    /// The beacon within the group.
    public var minor: UInt16
    /// The power received at 1 m, in dBm.
    public var measuredPower: Int8

    /// Creates a beacon from its values.
    public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int8 = -59) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
        self.measuredPower = measuredPower
    }

    /// Decodes an advertisement; `nil` if it is not such a beacon.
    public init?(_ advertisement: AdvertisingData) {
        for entry in advertisement.manufacturerData where entry.company == Self.company {
            let octets = Array(entry.data)
            // Unlike elsewhere in an advertisement, the most significant octet comes first.
            guard octets.count == 23, Array(octets.prefix(2)) == Self.kind,
                let uuid = BluetoothUUID(littleEndian: octets[2..<18].reversed())
            else { continue }
            self.init(
                uuid: uuid,
                major: UInt16(octets[18]) << 8 | UInt16(octets[19]),
                minor: UInt16(octets[20]) << 8 | UInt16(octets[21]),
                measuredPower: Int8(bitPattern: octets[22])
            )
            return
        }
        return nil
    }

    /// The fields to advertise: 30 octets, with the flags that the format requires.
    public var fields: [AdvertisingData.Field] {
        let data =
            Self.kind + uuid.littleEndianOctets128.reversed() + major.bigEndianOctets + minor.bigEndianOctets
            + [UInt8(bitPattern: measuredPower)]
        return [.flags([.generalDiscoverable, .classicNotSupported]), .manufacturerData(Self.company, data)]
    }

    private static let company: UInt16 = 0x004C
    /// Proximity, and the length of what follows.
    private static let kind: [UInt8] = [0x02, 0x15]
}
