/// The key that encrypts the link to a bonded device; 36 octets in a packet.
package struct ManagementLongTermKey: Hashable, Sendable {
    /// How the key was made; unknown values are kept.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let unauthenticatedLegacy = Kind(rawValue: 0)
        package static let authenticatedLegacy = Kind(rawValue: 1)
        package static let unauthenticatedSecureConnections = Kind(rawValue: 2)
        package static let authenticatedSecureConnections = Kind(rawValue: 3)
        package static let debugSecureConnections = Kind(rawValue: 4)
    }

    package let address: ManagementAddress
    package let kind: Kind
    /// The role for which the key is valid, as the kernel numbers it; return it to the kernel unchanged.
    package let initiator: UInt8
    /// The key's length in octets, 7 to 16.
    package let size: UInt8
    package let diversifier: UInt16
    package let random: UInt64
    package let value: SecretKey

    package init(
        address: ManagementAddress,
        kind: Kind,
        initiator: UInt8,
        size: UInt8,
        diversifier: UInt16,
        random: UInt64,
        value: SecretKey
    ) {
        self.address = address
        self.kind = kind
        self.initiator = initiator
        self.size = size
        self.diversifier = diversifier
        self.random = random
        self.value = value
    }

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        kind = Kind(rawValue: try reader.uint8("key type"))
        initiator = try reader.uint8("initiator")
        size = try reader.uint8("key size")
        diversifier = try reader.uint16("diversifier")
        let low = try reader.uint32("random number")
        random = UInt64(try reader.uint32("random number")) << 32 | UInt64(low)
        value = try reader.key("key")
    }

    func encode(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint8(kind.rawValue)
        writer.uint8(initiator)
        writer.uint8(size)
        writer.uint16(diversifier)
        writer.uint32(UInt32(truncatingIfNeeded: random))
        writer.uint32(UInt32(truncatingIfNeeded: random >> 32))
        writer.append(value.octets)
    }
}

/// The key that resolves a bonded device's changing private addresses; 23 octets in a packet.
package struct ManagementIdentityResolvingKey: Hashable, Sendable {
    /// The device's identity address.
    package let address: ManagementAddress
    package let value: SecretKey

    package init(address: ManagementAddress, value: SecretKey) {
        self.address = address
        self.value = value
    }

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        value = try reader.key("key")
    }

    func encode(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.append(value.octets)
    }
}

/// The key with which a bonded device signs write commands.
package struct ManagementSignatureResolvingKey: Hashable, Sendable {
    package let address: ManagementAddress
    /// 0 and 2 this side's, 1 and 3 the peer's; 0 and 1 unauthenticated, 2 and 3 authenticated.
    package let type: UInt8
    package let value: SecretKey

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        type = try reader.uint8("key type")
        value = try reader.key("key")
    }
}
