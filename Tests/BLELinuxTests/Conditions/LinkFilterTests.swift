import Testing

@testable import BLELinux

/// What the filter of a raw HCI socket lets through; the kernel runs the same program on any other socket.
@Suite struct LinkFilterTests {
    /// Whether a packet comes through, behind its type, code or opcode, and length.
    private static func isHeard(_ packet: [UInt8]) throws -> Bool {
        let pair = try SocketPair()
        let (near, far) = (pair.near, pair.far)
        // The kernel takes the program first, and then refuses the filter by events: this is no HCI socket.
        #expect(throws: SystemError.operationNotSupported) { try far.descriptor.filterLinks() }
        try near.descriptor.send(packet)
        do throws(SystemError) {
            return try far.descriptor.read(packet.count + 1) == packet
        } catch {
            #expect(error == .wouldBlock)
            return false
        }
    }

    /// LE Create Connection, LE Extended Create Connection, and its second version.
    @Test(arguments: [0x200D, 0x2043, 0x2085] as [UInt16])
    func `a command that asks for a link is heard`(_ opcode: UInt16) throws {
        #expect(try Self.isHeard([0x01, UInt8(opcode & 0xFF), UInt8(opcode >> 8), 1, 0]))
    }

    /// LE Set Scan Enable, LE Create Connection Cancel, LE Set Extended Scan Enable, and the neighbours of the last one
    /// that asks for a link.
    @Test(arguments: [0x200C, 0x200E, 0x2042, 0x2084, 0x2086] as [UInt16])
    func `no other command is heard`(_ opcode: UInt16) throws {
        #expect(try !Self.isHeard([0x01, UInt8(opcode & 0xFF), UInt8(opcode >> 8), 1, 0]))
    }

    /// LE Connection Complete, its enhanced forms, and LE PHY Update Complete; the three reports of advertisements.
    @Test func `of the events about the air no advertisement is heard`() throws {
        for subevent in [0x01, 0x0A, 0x29, 0x0C] as [UInt8] {
            #expect(try Self.isHeard([0x04, 0x3E, 2, subevent, 0]), "\(subevent)")
        }
        for subevent in [0x02, 0x0B, 0x0D] as [UInt8] {
            #expect(try !Self.isHeard([0x04, 0x3E, 2, subevent, 0]), "\(subevent)")
        }
    }

    /// Disconnection Complete, and what is too short to be judged.
    @Test func `the end of a link is heard, and so is what is cut off`() throws {
        #expect(try Self.isHeard([0x04, 0x05, 4, 0, 0x40, 0, 0x13]))
        #expect(try Self.isHeard([0x01, 0x0C]))
    }
}
