import BLEProtocol
import Testing

@Suite struct ATTServerSubscriptionTests {
    @Test func `changes of a configuration are told, and only changes`() {
        var client = ServedClient.ofSample()
        let steps: [(value: String, change: ServerClient.Subscription?)] = [
            ("0000", nil), ("0100", .notify), ("0100", nil), ("0300", nil), ("0200", .indicate),
            ("0000", ServerClient.Subscription.none),
        ]
        for (value, change) in steps {
            #expect(client.sends("12 0d00 " + value) == ["13"])
            #expect(client.output.subscriptionChanges.map(\.subscription) == (change.map { [$0] } ?? []))
            #expect(client.sends("0a 0d00") == ["0b" + value])
        }
    }

    @Test func `a change of a configuration is to be kept also where the subscription stays as it was`() {
        var client = ServedClient.ofSample()
        let steps = [
            ("0000", false), ("0100", true), ("0100", false), ("0300", true), ("0200", true), ("0000", true),
        ]
        for (value, isNew) in steps {
            #expect(client.sends("12 0d00 " + value) == ["13"])
            #expect(client.output.hasNewState == isNew)
        }
    }

    @Test func `a configuration has exactly two octets`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0d00") == ["01120d000d"])
        #expect(client.sends("12 0d00 01") == ["01120d000d"])
        #expect(client.sends("12 0d00 010000") == ["01120d000d"])
        #expect(client.sends("0a 0d00") == ["0b0000"])
    }

    @Test func `neither what the characteristic can't do nor reserved bits are allowed`() {
        var client = ServedClient.ofSample()
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        #expect(client.sends("12 1000 0100") == ["0112100013"])
        #expect(client.sends("12 1000 0300") == ["0112100013"])
        #expect(client.sends("12 1000 feff") == ["0112100013"])
        #expect(client.sends("12 1000 0200") == ["13"])
        #expect(client.sends("12 1000 0600") == ["0112100013"])
        #expect(client.sends("0a 1000") == ["0b0200"])
    }

    @Test func `nothing is sent to a client that has not asked`() throws {
        var client = ServedClient.ofSample()
        let database = client.database
        #expect(throws: ATTServer.SendRefusal.notSubscribed) { try client.server.notify(12, [1], database: database) }
        #expect(throws: ATTServer.SendRefusal.unknownCharacteristic) {
            try client.server.notify(13, [1], database: database)
        }
        _ = client.sends("12 0d00 0100")
        try client.server.notify(12, [1], database: database)
        #expect(throws: ATTServer.SendRefusal.notSubscribed) {
            _ = try client.server.indicate(12, [1], database: database)
        }
        #expect(client.receives() == ["1b0c0001"])
        #expect(client.receives().isEmpty)
    }

    @Test func `unsubscribing forgets what waits`() throws {
        var client = ServedClient.ofSample()
        _ = client.sends("12 0d00 0300")
        try client.server.notify(12, [1], database: client.database)
        let waiting = try client.server.indicate(12, [2], database: client.database)
        #expect(client.sends("12 0d00 0000") == ["13"])
        #expect(client.output.unconfirmed == [waiting])
    }

    @Test func `a bonded client's subscriptions hold again on its next connection, once the link is as safe`() throws {
        var client = ServedClient.ofSample()
        let encrypted = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        client.security = encrypted
        _ = client.sends("12 0d00 0100")
        _ = client.sends("12 1000 0200")
        let ended = client.server.ended()
        #expect(
            ended.subscriptionChanges == [
                .init(characteristic: 12, subscription: .none), .init(characteristic: 15, subscription: .none),
            ]
        )
        #expect(client.server.client.configurations == [12: 1, 15: 2])

        var server = ATTServer(maximumMTU: 517, client: client.server.client)
        #expect(server.client.subscriptions == [12: .notify, 15: .indicate])
        #expect(throws: ATTServer.SendRefusal.insufficientSecurity) {
            _ = try server.indicate(15, [1], database: client.database)
        }
        try server.notify(12, [1], database: client.database)
        server.setSecurity(encrypted)
        _ = try server.indicate(15, [1], database: client.database)
        #expect(server.nextPDU() == [0x1B, 12, 0, 1])
    }
}
