import Testing

@testable import BLEProtocol

@Suite struct BluetoothAddressTests {
    private let octets: [UInt8] = [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4]

    @Test func `octets on air are least significant first`() {
        let address = BluetoothAddress(littleEndian: octets, kind: .random)
        #expect(address?.rawValue == 0xC4F2_171A_1DBB)
        #expect(address?.description == "C4:F2:17:1A:1D:BB")
        #expect(address?.littleEndianOctets == octets)
        #expect(BluetoothAddress(littleEndian: octets.dropLast(), kind: .random) == nil)
        #expect(BluetoothAddress(littleEndian: octets + [0], kind: .random) == nil)
    }

    @Test func `the same octets of another kind are another device`() {
        let random = BluetoothAddress(rawValue: 1, kind: .random)
        #expect(random != BluetoothAddress(rawValue: 1, kind: .public))
        #expect(random.description == "00:00:00:00:00:01")
    }

    @Test func `more than 48 bits are cut off`() {
        #expect(BluetoothAddress(rawValue: 0xFFFF_0000_0000_0001, kind: .public).rawValue == 1)
    }

    /// Core Specification, Vol 6, Part B, 1.3.2: the two most significant bits of a random address.
    @Test(arguments: [
        ("C0:00:00:00:00:01/random", BluetoothAddress.Subkind.randomStatic),
        ("FF:FF:FF:FF:FF:FE/random", .randomStatic),
        ("40:00:00:00:00:01/random", .resolvablePrivate),
        ("7F:FF:FF:00:00:01/random", .resolvablePrivate),
        ("00:00:00:00:00:01/random", .nonResolvablePrivate),
        ("3F:FF:FF:00:00:01/random", .nonResolvablePrivate),
        ("80:00:00:00:00:01/random", .reserved),
        ("C0:00:00:00:00:01/public", .public),
    ])
    func `the top bits tell what a random address is`(text: String, subkind: BluetoothAddress.Subkind) throws {
        #expect(try #require(BluetoothAddress(text)).subkind == subkind)
    }

    @Test(arguments: ["C4:F2:17:1A:1D:BB/random", "c4:f2:17:1a:1d:bb/RANDOM"])
    func `text with a kind`(text: String) {
        #expect(BluetoothAddress(text) == BluetoothAddress(littleEndian: octets, kind: .random))
    }

    @Test func `what it prints with its kind is read back`() {
        for kind in BluetoothAddress.Kind.allCases {
            let address = BluetoothAddress(rawValue: 0x0102_0304_05FF, kind: kind)
            #expect(BluetoothAddress(address.descriptionWithKind) == address)
        }
    }

    @Test func `text without a kind may mean either, the likelier first`() {
        #expect(BluetoothAddress("C4:F2:17:1A:1D:BB") == nil)
        #expect(BluetoothAddress.candidates(for: "C4:F2:17:1A:1D:BB").map(\.kind) == [.random, .public])
        #expect(BluetoothAddress.candidates(for: "4C:F2:17:1A:1D:BB").map(\.kind) == [.random, .public])
        #expect(BluetoothAddress.candidates(for: "00:1A:7D:DA:71:13").map(\.kind) == [.public, .random])
        #expect(BluetoothAddress.candidates(for: "9C:1A:7D:DA:71:13").map(\.kind) == [.public])
        #expect(BluetoothAddress.candidates(for: "9C:1A:7D:DA:71:13/random").map(\.kind) == [.random])
    }

    @Test(
        arguments: [
            "", ":", ":::::", "C4:F2:17:1A:1D", "C4:F2:17:1A:1D:BB:00", "C4-F2-17-1A-1D-BB", "C4F2171A1DBB",
            "C4:F2:17:1A:1D:B", "C4:F2:17:1A:1D:BBB", "C4:F2:17:1A:1D:BG", "C4:F2:17:1A:1D:+B", " C4:F2:17:1A:1D:BB",
            "C4:F2:17:1A:1D:BB/", "C4:F2:17:1A:1D:BB/static", "C4:F2:17:1A:1D:BB/random/random", "/random",
            "C4:F2:17:1A:1D:Ｂ", "é4:F2:17:1A:1D:BB",
        ]
    )
    func `other text is no address`(text: String) {
        #expect(BluetoothAddress.candidates(for: text).isEmpty)
        #expect(BluetoothAddress(text) == nil)
    }
}
