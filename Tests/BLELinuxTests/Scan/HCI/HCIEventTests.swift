import BLEProtocol
import Testing

@testable import BLELinux

/// Vectors put together from Core Specification, Vol 4, Part E, 7.7.
@Suite struct HCIEventTests {
    private static let address: [UInt8] = [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4]

    private func advertisements(_ packet: [UInt8]) -> [HCIAdvertisement] {
        guard case .advertisements(let all) = HCIEvent(decoding: packet) else { return [] }
        return all
    }

    @Test func `decodes all reports of an event, not the first alone`() {
        // Two legacy reports: ADV_IND with flags and 180D at −48 dBm, SCAN_RSP with a name at −50 dBm.
        let first: [UInt8] =
            [0x00, 0x01] + Self.address + [0x07, 0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18, 0xD0]
        let second: [UInt8] =
            [0x04, 0x01] + Self.address + [0x0A, 0x09, 0x09, 0x42, 0x75, 0x6D, 0x62, 0x6C, 0x65, 0x48, 0x52, 0xCE]
        let packet = [0x04, 0x3E, 0x27, 0x02, 0x02] + first + second
        let found = advertisements(packet)
        #expect(found.count == 2)
        #expect(found.first?.address == .example)
        #expect(found.first?.rssi == -48)
        #expect(found.first?.isConnectable == true)
        #expect(found.first?.isScannable == true)
        #expect(found.first?.isScanResponse == false)
        #expect(found.first.map { Array($0.data) } == [0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18])
        #expect(found.last?.isScanResponse == true)
        #expect(found.last?.rssi == -50)
    }

    @Test(
        arguments: [
            (0x00, true, true),  // ADV_IND
            (0x01, true, false),  // ADV_DIRECT_IND
            (0x02, false, true),  // ADV_SCAN_IND
            (0x03, false, false),  // ADV_NONCONN_IND
        ] as [(UInt8, Bool, Bool)]
    )
    func `knows what each kind of advertisement allows`(_ type: UInt8, _ isConnectable: Bool, _ isScannable: Bool) {
        let packet = [0x04, 0x3E, 0x0C, 0x02, 0x01, type, 0x00] + Self.address + [0x00, 0x7F]
        let found = advertisements(packet)
        #expect(found.first?.isConnectable == isConnectable)
        #expect(found.first?.isScannable == isScannable)
        #expect(found.first?.rssi == nil)
        #expect(found.first?.address.kind == .public)
    }

    @Test func `decodes an extended report`() {
        // Connectable, not scannable, data incomplete; random address; 1M and 2M PHY; set 3; power unknown; −60 dBm.
        let body: [UInt8] =
            [0x21, 0x00, 0x01] + Self.address + [0x01, 0x02, 0x03, 0x7F, 0xC4, 0x00, 0x00, 0x00]
            + [0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x02, 0x01, 0x06]
        let packet: [UInt8] = [0x04, 0x3E, UInt8(body.count + 2), 0x0D, 0x01] + body
        let found = advertisements(packet)
        #expect(found.first?.address == .example)
        #expect(found.first?.rssi == -60)
        #expect(found.first?.isConnectable == true)
        #expect(found.first?.isScannable == false)
        #expect(found.first?.isIncomplete == true)
        #expect(found.first?.set == 3)
        #expect(found.first.map { Array($0.data) } == [0x02, 0x01, 0x06])
    }

    @Test func `leaves out an advertisement without an address, and none behind it`() {
        // Neither connectable nor scannable; the types of the addresses: none, random.
        let nobody: [UInt8] = [0x00, 0x00, 0xFF, 0, 0, 0, 0, 0, 0]
        let somebody: [UInt8] = [0x00, 0x00, 0x01] + Self.address
        let rest: [UInt8] =
            [0x01, 0x02, 0x03, 0x7F, 0xC4, 0x00, 0x00, 0x00]
            + [0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x02, 0x01, 0x06]
        let body: [UInt8] = nobody + rest + somebody + rest
        let packet: [UInt8] = [0x04, 0x3E, UInt8(body.count + 2), 0x0D, 0x02] + body
        #expect(advertisements(packet).map(\.address) == [.example])
    }

    @Test func `a report that is cut off costs none before it`() {
        var packet: [UInt8] =
            [0x04, 0x3E, 0x00, 0x02, 0x02, 0x03, 0x01] + Self.address + [0x00, 0xD0, 0x03, 0x01, 0xBB]
        packet[2] = UInt8(packet.count - 3)
        #expect(advertisements(packet).count == 1)
    }

    @Test func `decodes the end and the beginning of commands`() {
        // Command Complete of LE Set Scan Enable, and of Read Local Supported Commands with its first octets.
        #expect(
            HCIEvent(decoding: [0x04, 0x0E, 0x04, 0x01, 0x0C, 0x20, 0x00])
                == .commandEnded(opcode: 0x200C, status: 0, returned: [])
        )
        #expect(
            HCIEvent(decoding: [0x04, 0x0E, 0x06, 0x01, 0x02, 0x10, 0x00, 0xFF, 0x0F])
                == .commandEnded(opcode: 0x1002, status: 0, returned: [0xFF, 0x0F])
        )
        // Command Status: LE Create Connection under way, and Disconnect refused for an unknown connection.
        #expect(HCIEvent(decoding: [0x04, 0x0F, 0x04, 0x00, 0x01, 0x0D, 0x20]) == .commandStarted(opcode: 0x200D))
        #expect(
            HCIEvent(decoding: [0x04, 0x0F, 0x04, 0x02, 0x01, 0x06, 0x04])
                == .commandEnded(opcode: 0x0406, status: 2, returned: [])
        )
        // LE Connection Complete, and its enhanced form.
        #expect(HCIEvent(decoding: [0x04, 0x3E, 0x02, 0x01, 0x00]) == .connectionAttemptEnded)
        #expect(HCIEvent(decoding: [0x04, 0x3E, 0x02, 0x0A, 0x3E]) == .connectionAttemptEnded)
    }

    @Test(
        arguments: [
            [], [0x04], [0x04, 0x3E], [0x04, 0x3E, 0x05, 0x02], [0x02, 0x3E, 0x00], [0x04, 0x05, 0x00],
            [0x04, 0x0E, 0x01, 0x01],
            [0x04, 0x3E, 0x02, 0x02, 0xFF], [0x04, 0x3E, 0x02, 0x0D, 0xFF], [0x04, 0x3E, 0x00],
        ] as [[UInt8]]
    )
    func `what makes no sense is nothing`(_ packet: [UInt8]) {
        #expect(HCIEvent(decoding: packet) == nil)
    }

    @Test func `no octets whatever make it trap`() {
        var generator = SplitMix(state: 7)
        for _ in 0..<20_000 {
            var packet = (0..<Int(generator.next() % 60)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            // Most are made to look like events, so that they get beyond the first octets.
            if packet.count > 4, generator.next() % 4 != 0 {
                packet[0] = 0x04
                packet[1] = [0x3E, 0x0E, 0x0F][Int(generator.next() % 3)]
                packet[2] = UInt8(packet.count - 3)
                packet[3] = [0x02, 0x0D][Int(generator.next() % 2)]
            }
            _ = HCIEvent(decoding: packet)
        }
    }
}

/// A small generator whose sequence is the same on every run (Steele, Lea and Flood, 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
