import BLEProtocol
import Testing

/// Vectors put together from Core Specification, Vol 4, Part E, 7.7.5 and 7.7.65.
@Suite struct HCILinkEventTests {
    private static let address: [UInt8] = [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4]

    /// LE Connection Complete: handle 0x0040, central, random address; 30 ms, latency 0, 5 s; clock accuracy.
    private static let connected: [UInt8] =
        [0x04, 0x3E, 0x13, 0x01, 0x00, 0x40, 0x00, 0x00, 0x01] + address + [0x18, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00]

    @Test func `a table knows what controllers tell of their links`() {
        var table = LinkConditionTable()
        func receive(_ packet: [UInt8]) -> UInt16? { HCILinkEvent(decoding: packet).flatMap { table.received($0) } }
        #expect(receive(Self.connected) == 0x40)
        #expect(table[0x40]?.interval == .milliseconds(30))
        #expect(table[0x40]?.supervisionTimeout == .seconds(5))
        #expect(table[0x40]?.latency == 0)
        #expect(table[0x40]?.sendingPHY == nil)
        #expect(table[0x40]?.sendingDataLength == 27 && table[0x40]?.receivingDataLength == 27)

        // LE Connection Update Complete: 125 ms, latency 2, 6 s.
        #expect(receive([0x04, 0x3E, 0x0A, 0x03, 0x00, 0x40, 0x00, 0x64, 0x00, 0x02, 0x00, 0x58, 0x02]) == 0x40)
        #expect(table[0x40]?.interval == .milliseconds(125))
        #expect(table[0x40]?.latency == 2)
        // LE PHY Update Complete: 2M out, Coded in.
        #expect(receive([0x04, 0x3E, 0x06, 0x0C, 0x00, 0x40, 0x00, 0x02, 0x03]) == 0x40)
        #expect(table[0x40]?.sendingPHY == .le2M)
        #expect(table[0x40]?.receivingPHY == .leCoded)
        // LE Data Length Change: 251 octets out, 27 in.
        let length: [UInt8] = [0x04, 0x3E, 0x0B, 0x07, 0x40, 0x00, 0xFB, 0x00, 0x48, 0x08, 0x1B, 0x00, 0x48, 0x01]
        #expect(receive(length) == 0x40)
        #expect(table[0x40]?.sendingDataLength == 251)
        #expect(table[0x40]?.receivingDataLength == 27)
        #expect(receive(length) == nil)

        // Disconnection Complete.
        #expect(receive([0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]) == nil)
        #expect(table[0x40] == nil)
    }

    @Test func `the enhanced form tells the same behind two more addresses`() {
        let resolvable = [UInt8](repeating: 0, count: 12)
        let packet: [UInt8] =
            [0x04, 0x3E, 0x1F, 0x0A, 0x00, 0x40, 0x00, 0x00, 0x01] + Self.address + resolvable
            + [0x06, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00]
        guard case .connected(0x40, let times, isCentral: true)? = HCILinkEvent(decoding: packet) else {
            Issue.record("not understood")
            return
        }
        #expect(times.interval == .microseconds(7500))
    }

    @Test func `a handle that is used again begins afresh`() {
        var table = LinkConditionTable()
        for packet in [Self.connected, [0x04, 0x3E, 0x06, 0x0C, 0x00, 0x40, 0x00, 0x02, 0x02], Self.connected] {
            if let event = HCILinkEvent(decoding: packet) { _ = table.received(event) }
        }
        #expect(table[0x40]?.sendingPHY == nil)
    }

    /// LE Create Connection: 60 ms every 60 ms, no filter, a random address, own public; 30 to 50 ms, latency 0, 5 s.
    private static let create: [UInt8] =
        [0x01, 0x0D, 0x20, 0x19, 0x60, 0x00, 0x60, 0x00, 0x00, 0x01] + address
        + [0x00, 0x18, 0x00, 0x28, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00, 0x00, 0x00, 0x00]

    /// LE Extended Create Connection to the same, on 1M.
    private static let createExtended: [UInt8] =
        [0x01, 0x43, 0x20, 0x1A, 0x00, 0x00, 0x01] + address
        + [0x01, 0x60, 0x00, 0x60, 0x00, 0x18, 0x00, 0x28, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00, 0x00, 0x00, 0x00]

    /// LE Extended Create Connection [v2] to the same: an advertising set and a subevent stand before the filter.
    private static let createInSubevent: [UInt8] =
        [0x01, 0x85, 0x20, 0x1C, 0x00, 0x00, 0x00, 0x00, 0x01] + address
        + [0x01, 0x60, 0x00, 0x60, 0x00, 0x18, 0x00, 0x28, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00, 0x00, 0x00, 0x00]

    @Test func `every command that asks for a link is understood`() {
        #expect(HCILinkEvent(decoding: Self.create) == .connecting(isExtended: false))
        #expect(HCILinkEvent(decoding: Self.createExtended) == .connecting(isExtended: true))
        #expect(HCILinkEvent(decoding: Self.createInSubevent) == .connecting(isExtended: true))
        #expect(HCILinkEvent.connectionCommands == [0x200D, 0x2043, 0x2085])
    }

    @Test func `a link that can begin in the way of Bluetooth 4 only is on 1M`() {
        var table = LinkConditionTable()
        func receive(_ packet: [UInt8]) { _ = HCILinkEvent(decoding: packet).flatMap { table.received($0) } }
        receive(Self.create)
        receive(Self.connected)
        #expect(table[0x40]?.sendingPHY == .le1M && table[0x40]?.receivingPHY == .le1M)
        // To whoever advertises on 2M the link is on 2M.
        receive(Self.createExtended)
        receive(Self.connected)
        #expect(table[0x40]?.sendingPHY == nil && table[0x40]?.receivingPHY == nil)
        // Nor does a request of the second form tell: the link is on the PHY of the advertising.
        receive(Self.create)
        receive(Self.createInSubevent)
        receive(Self.connected)
        #expect(table[0x40]?.sendingPHY == nil && table[0x40]?.receivingPHY == nil)
        // It was the other side that connected.
        receive(Self.create)
        var accepted = Self.connected
        accepted[7] = 0x01
        receive(accepted)
        #expect(table[0x40]?.sendingPHY == nil && table[0x40]?.interval == .milliseconds(30))
    }

    /// LE Read Remote Features Complete of the link 0x0040, with the first two octets of features.
    private static func features(_ first: UInt8, _ second: UInt8, status: UInt8 = 0) -> [UInt8] {
        [0x04, 0x3E, 0x0C, 0x04, status, 0x40, 0x00, first, second, 0, 0, 0, 0, 0, 0]
    }

    @Test func `a link to a peer without other modulations is on 1M`() {
        // All but 2M (bit 8) and Coded (bit 11); each of them; and what failed.
        let cases: [([UInt8], LinkConditions.PHY?)] = [
            (Self.features(0xFF, 0xF6), .le1M), (Self.features(0x00, 0x01), nil), (Self.features(0x00, 0x08), nil),
            (Self.features(0x01, 0x00, status: 0x1A), nil), (Array(Self.features(0x01, 0x00).dropLast()), nil),
        ]
        for (packet, phy) in cases {
            var table = LinkConditionTable()
            for packet in [Self.createExtended, Self.connected, packet] {
                if let event = HCILinkEvent(decoding: packet) { _ = table.received(event) }
            }
            #expect(table[0x40]?.sendingPHY == phy && table[0x40]?.receivingPHY == phy, "\(packet)")
        }
        // Of a link that was made before anybody listened no more is known than before.
        var table = LinkConditionTable()
        if let event = HCILinkEvent(decoding: Self.features(0x01, 0x00)) { #expect(table.received(event) == nil) }
        #expect(table[0x40] == nil)
    }

    @Test func `an attempt is over when its failure is reported`() {
        var failed = Self.connected
        failed[4] = 0x3E
        #expect(HCILinkEvent.endsAttempt(failed))
        #expect(!HCILinkEvent.endsAttempt(Self.connected))
        #expect(!HCILinkEvent.endsAttempt(Self.features(0x01, 0x00, status: 0x1A)))
        #expect(!HCILinkEvent.endsAttempt(Self.createExtended))
        for length in 0..<5 { #expect(!HCILinkEvent.endsAttempt(Array(failed.prefix(length)))) }
    }

    @Test func `failures, other events and what is cut off tell nothing`() {
        var failed = Self.connected
        failed[4] = 0x3E
        #expect(HCILinkEvent(decoding: failed) == nil)
        #expect(HCILinkEvent(decoding: [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]) == nil)
        // LE Set Scan Enable, and a command that is cut off.
        #expect(HCILinkEvent(decoding: [0x01, 0x0C, 0x20, 0x02, 0x01, 0x00]) == nil)
        #expect(HCILinkEvent(decoding: [0x01, 0x0D]) == nil)
        for length in 0..<Self.connected.count - 1 {
            #expect(HCILinkEvent(decoding: Array(Self.connected.prefix(length))) == nil)
        }
    }
}
