import BLEProtocol
import Testing

/// Where a value ends that is sent without having been asked for, and what happens to what can't be sent.
@Suite struct ATTServerValueLengthTests {
    /// A client at the largest MTU that has subscribed to everything at 12.
    private func subscriber() -> ServedClient {
        var client = ServedClient.ofSample()
        client.exchangesMTU(517)
        _ = client.sends("12 0d00 0300")
        return client
    }

    @Test func `a notification and an indication end at 512 octets, though the MTU has room for two more`() throws {
        var client = subscriber()
        #expect(client.server.mtu == 517 && client.server.maximumValueLength == 512)
        let longest = [UInt8](repeating: 0xAB, count: 512)
        try client.server.notify(12, longest, database: client.database)
        _ = try client.server.indicate(12, longest, database: client.database)
        let text = String(repeating: "ab", count: 512)
        #expect(client.receives() == ["1b0c00" + text, "1d0c00" + text])
    }

    @Test(arguments: [513, 514, 515, 1000])
    func `a value that no attribute has is refused, and not cut`(count: Int) {
        var client = subscriber()
        let value = [UInt8](repeating: 1, count: count)
        #expect(throws: ATTServer.SendRefusal.tooLong) {
            try client.server.notify(12, value, database: client.database)
        }
        #expect(throws: ATTServer.SendRefusal.tooLong) {
            _ = try client.server.indicate(12, value, database: client.database)
        }
        #expect(throws: ATTServer.SendRefusal.tooLong) {
            try client.server.notify([(12, [1]), (12, value)], database: client.database)
        }
        #expect(client.receives().isEmpty)
    }

    @Test func `what the properties don't promise is refused as such`() {
        var client = subscriber()
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        _ = client.sends("12 1000 0200")
        #expect(throws: ATTServer.SendRefusal.notOffered) {
            try client.server.notify(15, [1], database: client.database)
        }
        #expect(throws: ATTServer.SendRefusal.notOffered) {
            _ = try client.server.indicate(3, [1], database: client.database)
        }
        // Both bits of a configuration count.
        #expect(client.server.client.wants(.notify, of: 12) && client.server.client.wants(.indicate, of: 12))
        #expect(!client.server.client.wants(.notify, of: 15) && client.server.client.wants(.indicate, of: 15))
    }

    @Test func `each queue has room by itself, whatever the other one waits for`() throws {
        var limits = ATTServer.Limits()
        (limits.notifications, limits.indications) = (2, 2)
        var client = ServedClient.ofSample(limits: limits)
        _ = client.sends("12 0d00 0300")
        let database = client.database
        // One is sent and never confirmed, two wait behind it.
        _ = try client.server.indicate(12, [0], database: database)
        #expect(client.receives() == ["1d0c0000"])
        for value in UInt8(1)...2 { _ = try client.server.indicate(12, [value], database: database) }
        #expect(throws: ATTServer.SendRefusal.full) { _ = try client.server.indicate(12, [3], database: database) }
        for value in UInt8(0)..<2 { try client.server.notify(12, [value], database: database) }
        #expect(throws: ATTServer.SendRefusal.full) { try client.server.notify(12, [2], database: database) }
        #expect(client.server.nextPDU() == [0x1B, 0x0C, 0x00, 0x00])
        #expect(client.server.sent().room == .notifications)
        // Told once, then that nothing waits; who waits for the other one sleeps on.
        #expect(client.receives() == ["1b0c0001"] && client.output.room == .backlog)
        #expect(client.sends("1e") == ["1d0c0001"])
        #expect(client.output.room == .indications)
    }

    @Test(arguments: ["0400", "0080", "0500", "ffff", "0101"])
    func `a bit of a configuration that is reserved is refused, and changes nothing`(bits: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0d00 0100") == ["13"])
        #expect(client.sends("12 0d00 \(bits)") == ["01120d0013"])
        #expect(client.output.subscriptionChanges.isEmpty)
        #expect(client.sends("0a 0d00") == ["0b0100"])
    }
}
