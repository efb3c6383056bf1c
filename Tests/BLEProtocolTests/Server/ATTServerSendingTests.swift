import BLEProtocol
import Testing

@Suite struct ATTServerSendingTests {
    private func subscribed(_ bits: String = "0300", limits: ATTServer.Limits = .init()) -> ServedClient {
        var client = ServedClient.ofSample(limits: limits)
        _ = client.sends("12 0d00 " + bits)
        return client
    }

    @Test func `the next PDU stays the same until it is sent`() throws {
        var client = subscribed()
        try client.server.notify(12, [1], database: client.database)
        #expect(client.server.nextPDU() == [0x1B, 12, 0, 1])
        try client.server.notify(12, [2], database: client.database)
        _ = client.server.received([0x0A, 3, 0], security: .none, database: &client.database)
        #expect(client.server.nextPDU() == [0x1B, 12, 0, 1])
        _ = client.server.sent()
        #expect(client.server.nextPDU() == [0x0B] + Array("Acme".utf8))
    }

    @Test func `responses go before notifications, notifications before indications`() throws {
        var client = subscribed()
        let indication = try client.server.indicate(12, [1], database: client.database)
        try client.server.notify(12, [2], database: client.database)
        try client.server.notify(12, [3], database: client.database)
        #expect(client.sends("0a 0300") == ["0b41636d65", "1b0c0002", "1b0c0003", "1d0c0001"])
        #expect(client.output.timer == .start(indication, .seconds(30)))
    }

    @Test func `an indication waits for what was queued before it, and not for all that comes later`() throws {
        var client = subscribed()
        for value in UInt8(0)..<100 { try client.server.notify(12, [value], .unbounded, database: client.database) }
        _ = try client.server.indicate(12, [0], database: client.database)
        var opcodes: [UInt8] = []
        // There is always another notification.
        for value in UInt8(0)..<250 {
            try client.server.notify(12, [value], .unbounded, database: client.database)
            let pdu = client.server.nextPDU()
            opcodes.append(pdu?.first ?? 0)
            _ = client.server.sent()
        }
        // Of the later ones, no more pass it than may wait for others.
        #expect(opcodes.firstIndex(of: 0x1D) == 100 + ATTServer.Limits().notifications)
        #expect(opcodes.count { $0 == 0x1D } == 1)
    }

    @Test func `values are cut at what fits when they are sent`() throws {
        var client = subscribed()
        let value = [UInt8](repeating: 7, count: 40)
        try client.server.notify(12, value, database: client.database)
        #expect(client.receives() == ["1b0c00" + String(repeating: "07", count: 20)])
        try client.server.notify(12, value, database: client.database)
        _ = try client.server.indicate(12, value, database: client.database)
        // Queued before the exchange, sent after it.
        #expect(
            client.sends("02 2800") == [
                "030502", "1b0c00" + String(repeating: "07", count: 37), "1d0c00" + String(repeating: "07", count: 37),
            ]
        )
    }

    @Test func `only one indication is unconfirmed at a time`() throws {
        var client = subscribed()
        let first = try client.server.indicate(12, [1], database: client.database)
        let second = try client.server.indicate(12, [2], database: client.database)
        #expect(client.receives() == ["1d0c0001"])
        #expect(client.receives().isEmpty)
        #expect(client.sends("1e") == ["1d0c0002"])
        #expect(client.output.confirmed == [first])
        #expect(client.output.timer == .start(second, .seconds(30)))
        #expect(client.sends("1e").isEmpty)
        #expect(client.output.confirmed == [second])
        #expect(client.output.timer == .stop(second))
    }

    @Test func `requests are answered and notifications sent while an indication is open`() throws {
        var client = subscribed()
        _ = try client.server.indicate(12, [1], database: client.database)
        #expect(client.receives() == ["1d0c0001"])
        #expect(client.sends("0a 0300") == ["0b41636d65"])
        try client.server.notify(12, [2], database: client.database)
        #expect(client.receives() == ["1b0c0002"])
    }

    @Test func `an indication that is not confirmed in time ends the bearer`() throws {
        var client = subscribed()
        let lost = try client.server.indicate(12, [1], database: client.database)
        let waiting = try client.server.indicate(12, [2], database: client.database)
        _ = client.receives()
        let output = client.server.timerFired(lost)
        #expect(output.close == DisconnectReason(.transactionTimeout))
        #expect(output.unconfirmed == [lost, waiting])
        #expect(client.server.hasEnded)
        #expect(client.sends("0a 0300").isEmpty)
        #expect(client.sends("1e").isEmpty)
        #expect(client.output == .init())
        #expect(throws: ATTServer.SendRefusal.closed) {
            try client.server.notify(12, [1], database: client.database)
        }
    }

    @Test func `a timer that comes after the confirmation does nothing`() throws {
        var client = subscribed()
        let id = try client.server.indicate(12, [1], database: client.database)
        _ = client.receives()
        _ = client.sends("1e")
        _ = try client.server.indicate(12, [2], database: client.database)
        _ = client.receives()
        #expect(client.server.timerFired(id) == .init())
        #expect(!client.server.hasEnded)
    }

    @Test func `a confirmation with a payload does not confirm`() throws {
        var client = subscribed()
        let id = try client.server.indicate(12, [1], database: client.database)
        _ = client.receives()
        #expect(client.sends("1e00").isEmpty)
        #expect(client.output.confirmed.isEmpty)
        #expect(client.sends("1e").isEmpty)
        #expect(client.output.confirmed == [id])
    }

    @Test func `an Error Response to an indication counts as its answer`() throws {
        var client = subscribed()
        let id = try client.server.indicate(12, [1], database: client.database)
        _ = try client.server.indicate(12, [2], database: client.database)
        _ = client.receives()
        #expect(client.sends("01 1d 0c00 06") == ["1d0c0002"])
        #expect(client.output.confirmed == [id])
        // One that answers a request of ours is for the client half.
        #expect(client.sends("01 0a 0300 0a").isEmpty)
        #expect(client.output.confirmed.isEmpty)
    }

    @Test func `the queues are bounded and tell when there is room again`() throws {
        var limits = ATTServer.Limits()
        limits.notifications = 4
        limits.indications = 2
        var client = subscribed(limits: limits)
        let database = client.database
        for value in 0..<4 { try client.server.notify(12, [UInt8(value)], database: database) }
        #expect(throws: ATTServer.SendRefusal.full) { try client.server.notify(12, [4], database: database) }
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room.isEmpty)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room == .notifications)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room.isEmpty)
        for value in 0..<2 { _ = try client.server.indicate(12, [UInt8(value)], database: database) }
        #expect(throws: ATTServer.SendRefusal.full) { _ = try client.server.indicate(12, [2], database: database) }
        #expect(client.receives() == ["1b0c0003", "1d0c0000"])
        // The notifications that were behind are all sent, too.
        #expect(client.output.room == [.indications, .backlog])
    }

    @Test func `no value is sent while this device's own exchange is open`() throws {
        var client = subscribed()
        client.server.isExchangingMTU = true
        try client.server.notify(12, [1], database: client.database)
        _ = try client.server.indicate(12, [2], database: client.database)
        #expect(client.receives().isEmpty)
        #expect(client.sends("0a 0300") == ["0b41636d65"])
        client.server.isExchangingMTU = false
        client.server.setMTU(100)
        #expect(client.receives() == ["1b0c0001", "1d0c0002"])
    }

    @Test func `when the bearer ends, indications and questions are given up`() throws {
        var client = subscribed()
        let sent = try client.server.indicate(12, [1], database: client.database)
        let waiting = try client.server.indicate(12, [2], database: client.database)
        _ = client.receives()
        _ = client.sends("0a 0a00")
        let token = client.output.reads.first?.token
        let output = client.server.ended()
        #expect(output.unconfirmed == [sent, waiting])
        #expect(output.cancelled.first == token)
        #expect(output.timer == .stop(sent))
        #expect(output.close == nil)
        #expect(client.program(answers: token, with: .success([1])).isEmpty)
        #expect(client.output.notes.count == 1)
    }
}
