/// The out-of-band data of a device, passed to another one by NFC or a printed code, so that the two can pair without
/// questions: it proves that it came from the device itself.
///
/// It is for LE Secure Connections. It is valid for one pairing, or until the device makes new data; anyone who
/// intercepts it can impersonate the intended device. Printing, interpolating or dumping it shows the address alone.
/// Source: Core Specification, Vol 3, Part H, 2.3.5.6.4, and Core Specification Supplement, Part A, 1.16 and 1.6.
public struct OutOfBandData: Hashable, Sendable {
    /// The address of its device, if it contains one.
    public let address: BluetoothAddress?

    /// The commitment to the device's key, in the order on air.
    package let confirmation: SecretKey

    /// The random number, in the order on air.
    package let random: SecretKey

    package init(address: BluetoothAddress?, confirmation: SecretKey, random: SecretKey) {
        self.address = address
        self.confirmation = confirmation
        self.random = random
    }

    /// Decodes a device's data: AD structures, as in an NFC record of the type `application/vnd.bluetooth.le.oob`.
    ///
    /// - Returns: `nil` if a value of LE Secure Connections, 0x22 or 0x23, is missing, as in the data of a device that
    ///   supports only legacy pairing.
    public init?(octets: [UInt8]) {
        let data = AdvertisingData(bytes: octets)
        guard
            let confirmation = data.first(.secureConnectionsConfirmation, atLeast: 16).flatMap({ SecretKey(octets: $0) }
            ),
            let random = data.first(.secureConnectionsRandom, atLeast: 16).flatMap({ SecretKey(octets: $0) })
        else { return nil }
        let address = data.first(.deviceAddress, atLeast: 7).map { octets in
            let value = octets.prefix(6).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            return BluetoothAddress(rawValue: value, kind: (octets.prefix(7).last ?? 0) & 1 == 0 ? .public : .random)
        }
        self.init(address: address, confirmation: confirmation, random: random)
    }

    /// The octets to pass on: AD structures with the address, if known, and the two values. They are the secret: any
    /// device that gets them can pair.
    public var octets: [UInt8] {
        var octets: [UInt8] = []
        if let address {
            let value = (0..<6).map { UInt8(truncatingIfNeeded: address.rawValue >> (8 * $0)) }
            octets += [8, AdvertisingData.FieldType.deviceAddress.rawValue] + value + [address.kind == .public ? 0 : 1]
        }
        octets += [17, AdvertisingData.FieldType.secureConnectionsConfirmation.rawValue] + confirmation.octets
        octets += [17, AdvertisingData.FieldType.secureConnectionsRandom.rawValue] + random.octets
        return octets
    }
}

extension OutOfBandData: CustomStringConvertible, CustomReflectable {
    /// The address, without the values.
    public var description: String { "out-of-band data" + (address.map { " of \($0)" } ?? "") }
    /// The address, without the values.
    public var customMirror: Mirror { Mirror(self, children: ["address": address as Any]) }
}
