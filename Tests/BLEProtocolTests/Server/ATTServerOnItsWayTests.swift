import BLEProtocol
import Testing

/// What happens between a PDU's way to the link and the link's word that it took it.
@Suite struct ATTServerOnItsWayTests {
    private func subscribed() -> ServedClient {
        var client = ServedClient.ofSample()
        _ = client.sends("12 0d00 0300")
        return client
    }

    @Test func `a confirmation that is faster than the link's word confirms, and no time runs`() throws {
        var client = subscribed()
        let id = try client.server.indicate(12, [1], database: client.database)
        #expect(client.server.nextPDU() == [0x1D, 12, 0, 1])
        #expect(client.server.sending() == nil)
        let output = client.server.received([0x1E], security: .none, database: &client.database)
        #expect(output.confirmed == [id])
        #expect(client.server.sent().timer == nil)
        #expect(client.receives().isEmpty)
    }

    @Test func `an indication that the link refused is given again, and its time begins only then`() throws {
        var client = subscribed()
        let id = try client.server.indicate(12, [1], database: client.database)
        _ = client.server.nextPDU()
        _ = client.server.sending()
        client.server.notSent()
        // Nothing is unconfirmed yet.
        let early = client.server.received([0x1E], security: .none, database: &client.database)
        #expect(early.confirmed.isEmpty)
        #expect(client.receives() == ["1d0c0001"])
        #expect(client.output.timer == .start(id, .seconds(30)))
        #expect(client.sends("1e").isEmpty)
        #expect(client.output.confirmed == [id])
    }

    @Test func `a request that follows the response to an exchange at once is served with the new MTU`() {
        var client = subscribed()
        _ = client.server.received([2, 0x05, 0x02], security: .none, database: &client.database)
        #expect(client.server.nextPDU() == [3, 0x05, 0x02])
        #expect(client.server.sending() == 517)
        _ = client.server.received([0x0A, 7, 0], security: .none, database: &client.database)
        #expect(client.server.sent().mtu == 517)
        #expect(client.receives() == ["0b" + WireText.text(0..<30)])
    }

    @Test func `an indication on its way is given up once when the bearer ends`() throws {
        var client = subscribed()
        let sent = try client.server.indicate(12, [1], database: client.database)
        let waiting = try client.server.indicate(12, [2], database: client.database)
        _ = client.server.nextPDU()
        _ = client.server.sending()
        #expect(client.server.ended().unconfirmed == [sent, waiting])
        #expect(client.server.sent() == .init())
        #expect(client.server.nextPDU() == nil)
    }
}
