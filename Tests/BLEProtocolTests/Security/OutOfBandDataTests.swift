import Testing

@testable import BLEProtocol

/// What a device tells another one out of band, in the form of the Core Specification Supplement, Part A, 1.16 and 1.6.
@Suite struct OutOfBandDataTests {
    private static let confirmation = (0..<16).map { UInt8($0) }
    private static let random = (0..<16).map { 0xA0 + UInt8($0) }
    private static let values = [17, 0x22] + confirmation + [17, 0x23] + random
    /// LE Bluetooth Device Address, C4:F2:17:1A:1D:BB, random; LE Role, only peripheral; Flags.
    private static let head: [UInt8] = [8, 0x1B, 0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 1, 2, 0x1C, 0]

    @Test func `the address and the two values are read, whatever else is there`() throws {
        let data = try #require(OutOfBandData(octets: Self.head + [2, 0x01, 0x06] + Self.values))
        #expect(data.address == BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random))
        #expect(data.confirmation.octets == Self.confirmation && data.random.octets == Self.random)
        #expect(data.octets == Array(Self.head.prefix(9)) + Self.values)
        let nameless = try #require(OutOfBandData(octets: Self.values))
        #expect(nameless.address == nil && nameless.octets == Self.values)
    }

    @Test func `octets behind the address, and other bits of its type, are ignored`() throws {
        let longer: [UInt8] = [9, 0x1B, 0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 0x81, 0]
        let data = try #require(OutOfBandData(octets: longer + Self.values))
        #expect(data.address == BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random))
    }

    @Test func `what is cut off or for legacy pairing is none`() {
        for count in 0..<Self.values.count {
            #expect(OutOfBandData(octets: Self.values.prefix(count).map { $0 }) == nil)
        }
        #expect(OutOfBandData(octets: [17, 0x10] + Self.random) == nil)
    }

    @Test func `printing and dumping show no value`() throws {
        let data = try #require(OutOfBandData(octets: Self.head + Self.values))
        var dumped = ""
        dump(data, to: &dumped)
        #expect("\(data)" == "out-of-band data of C4:F2:17:1A:1D:BB" && "\(data)" == String(reflecting: data))
        #expect(!dumped.contains("confirmation") && !dumped.contains("160"))
    }

    @Test func `the kernel is told the values of Secure Connections, and zeros for none`() throws {
        let data = try #require(OutOfBandData(octets: Self.values))
        let address = ManagementAddress(BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random))
        var writer = ByteWriter()
        ManagementAddRemoteOutOfBandData(address, data: data).encodeParameters(into: &writer)
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(writer.bytes == [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 2] + zeros + Self.confirmation + Self.random)
        var none = ByteWriter()
        ManagementAddRemoteOutOfBandData(address, data: nil).encodeParameters(into: &none)
        #expect(none.bytes == [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 2] + zeros + zeros)
    }
}
