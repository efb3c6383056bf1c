import Testing

@testable import BLEProtocol

@Suite struct PrivateAddressTests {
    /// The sample data of the Core Specification, Vol 3, Part H, D.7, least significant octet first.
    private static func key() throws -> SecretKey {
        let octets: [UInt8] = [
            0x9B, 0x7D, 0x39, 0x0A, 0xA6, 0x10, 0x10, 0x34, 0x05, 0xAD, 0xC8, 0x57, 0xA3, 0x34, 0x02, 0xEC,
        ]
        return try #require(SecretKey(octets: octets))
    }

    @Test func `an identity key resolves the private addresses that were made with it, and no others`() throws {
        let key = try Self.key()
        #expect(key.resolves(BluetoothAddress(rawValue: 0x7081_940D_FBAA, kind: .random)))
        #expect(!key.resolves(BluetoothAddress(rawValue: 0x7081_940D_FBAB, kind: .random)))
        #expect(!key.resolves(BluetoothAddress(rawValue: 0x7081_950D_FBAA, kind: .random)))
        #expect(key.privateAddress(0x30_8194).rawValue == 0x7081_940D_FBAA)
        #expect(key.privateAddress(.max).subkind == .resolvablePrivate && key.resolves(key.privateAddress(.max)))
        // The same octets as a public address are another device.
        #expect(!key.resolves(BluetoothAddress(rawValue: 0x7081_940D_FBAA, kind: .public)))
    }
}
