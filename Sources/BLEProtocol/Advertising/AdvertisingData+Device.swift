extension AdvertisingData {
    /// The transmit power of the advertisement, in dBm; together with the received strength it gives the path loss.
    public var txPower: Int8? {
        first(.txPower, atLeast: 1)?.first.map { Int8(bitPattern: $0) }
    }

    /// What the device looks like: a number from the list of appearance values (Assigned Numbers, 2.6).
    public var appearance: UInt16? {
        number(.appearance, octets: 2).map { UInt16(truncatingIfNeeded: $0) }
    }

    /// The roles of a device; unknown values are kept (Core Specification Supplement, Part A, 1.17).
    package struct Role: RawRepresentable, Hashable, Sendable {
        /// The octet on air.
        package let rawValue: UInt8

        /// Makes a role from its octet.
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Only peripheral.
        package static let peripheralOnly = Role(rawValue: 0)
        /// Only central.
        package static let centralOnly = Role(rawValue: 1)
        /// Both; peripheral is preferred when a connection is made.
        package static let peripheralPreferred = Role(rawValue: 2)
        /// Both; central is preferred when a connection is made.
        package static let centralPreferred = Role(rawValue: 3)
    }

    /// The roles that the device supports and prefers.
    package var role: Role? {
        first(.role, atLeast: 1)?.first.map(Role.init(rawValue:))
    }

    /// The features of the device's link layer, bit 0 first (Core Specification, Vol 6, Part B, 4.6).
    ///
    /// The first 64 features; further octets are left out.
    package var supportedFeatures: UInt64? {
        first(.supportedFeatures, atLeast: 1).map { Self.number($0.prefix(8)) }
    }

    /// Public addresses of the devices that the advertisement is meant for.
    package var publicTargetAddresses: [BluetoothAddress] { addresses(.publicTargetAddress, .public) }

    /// Random addresses of the devices that the advertisement is meant for.
    package var randomTargetAddresses: [BluetoothAddress] { addresses(.randomTargetAddress, .random) }

    private func addresses(_ type: AdvertisingData.FieldType, _ kind: BluetoothAddress.Kind) -> [BluetoothAddress] {
        var found: [BluetoothAddress] = []
        for (other, data) in self where other == type {
            var rest = data
            while let address = BluetoothAddress(littleEndian: rest.prefix(6), kind: kind) {
                found.append(address)
                rest.removeFirst(6)
            }
        }
        return found
    }

    /// The first structure of a type that has at least so many octets, as a number.
    func number(_ type: AdvertisingData.FieldType, octets count: Int) -> UInt64? {
        first(type, atLeast: count).map { Self.number($0.prefix(count)) }
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt64 {
        octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
