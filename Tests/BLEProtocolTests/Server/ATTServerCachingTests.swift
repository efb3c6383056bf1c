import BLEProtocol
import Testing

/// Robust caching and Service Changed, as Vol 3, Part G, 2.5.2 describes them.
@Suite struct ATTServerCachingTests {
    private static let gatt = LocalService(BluetoothUUID(0x1801)) {  // 1
        LocalCharacteristic(BluetoothUUID(0x2A05), [.indicate])  // 2, 3; 4 configures
        LocalCharacteristic(BluetoothUUID(0x2B29), [.read, .write])  // 5, 6
        LocalCharacteristic(BluetoothUUID(0x2B2A), [.read])  // 7, 8
    }
    private static let kept = LocalService(BluetoothUUID(0xA000)) {  // 9
        LocalCharacteristic(  // 10, 11; 12 configures
            BluetoothUUID(0xA001),
            [.read, .write, .writeWithoutResponse, .notify],
            value: .stored([1])
        )
    }
    private static let removed = LocalService(BluetoothUUID(0xB000)) {  // 13
        LocalCharacteristic(BluetoothUUID(0xB001), [.read, .write, .notify], value: .stored([2]))  // 14, 15; 16
    }
    private static let added = LocalService(BluetoothUUID(0xC000)) {  // 17
        LocalCharacteristic(BluetoothUUID(0xC001), [.read, .write], value: .stored([3]))  // 18, 19
    }

    /// What Service Changed says of the change from `removed` to `added`.
    private static let changed = "0d001300"

    private func client() -> ServedClient { ServedClient([Self.gatt, Self.kept, Self.removed]) }

    /// A client that has set the bit for robust caching.
    private func robustClient() -> ServedClient {
        var client = client()
        #expect(client.sends("12060001") == ["13"])
        return client
    }

    // MARK: - Client Supported Features

    @Test func `a feature that is set stays set`() {
        var client = client()
        #expect(client.sends("0a0600") == ["0b00"])
        #expect(client.sends("120600") == ["011206000d"])
        #expect(client.sends("12060001") == ["13"])
        #expect(client.sends("12060000") == ["0112060013"])
        #expect(client.sends("12060004") == ["0112060013"])
        #expect(client.sends("120600fd") == ["13"])
        #expect(client.sends("0a0600") == ["0b05"])
    }

    @Test func `features are each client's own`() {
        let one = robustClient()
        var other = ServedClient(one.database)
        #expect(other.sends("0a0600") == ["0b00"])
    }

    // MARK: - Database Out Of Sync

    @Test func `nothing is out of sync before a change`() {
        var client = robustClient()
        #expect(client.sends("0a0b00") == ["0b01"])
    }

    @Test(arguments: [
        ("0a0b00", "010a0b0012"), ("0c0b000000", "010c0b0012"), ("0e0b000b00", "010e0b0012"),
        ("200b000b00", "01200b0012"), ("120b0005", "01120b0012"), ("160b00000005", "01160b0012"),
        ("080900ffff01a0", "0108090012"), ("080100fe7f01a0", "0108010012"),
    ])
    func `a request for a handle is refused once`(request: String, refusal: String) {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends(request) == [refusal])
        #expect(client.sends(request).first != refusal)
        #expect(client.sends("0a0b00").first?.hasPrefix("0b") == true)
    }

    @Test(arguments: [
        ("0409000a00", "0501090000280a000328"), ("060100ffff002800a0", "0709000c00"),
        ("100900090000 28", "110609000c0000a0"),
        ("0809000c000328", "09070a001e0b0001a0"), ("080100ffff01a0", "09030b0001"), ("0801000c000228", "010801000a"),
        ("021700", "030502"),
    ])
    func `discovery goes on without being refused`(request: String, answer: String) {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends(request) == [answer])
        // And it makes nobody aware.
        #expect(client.sends("0a0b00") == ["010a0b0012"])
    }

    @Test func `who has read the hash and asks again is aware`() {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        let hash = WireText.text(client.database.computedHash())
        #expect(client.sends("080100ffff2a2b") == ["09120800" + hash])
        // Not yet: a command is no request.
        _ = client.sends("520b0007")
        #expect(client.database.value(at: 11) == [1])
        #expect(client.sends("0a0b00") == ["0b01"])
        _ = client.sends("520b0007")
        #expect(client.database.value(at: 11) == [7])
    }

    @Test func `a second change counts anew, whatever was read before`() {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        _ = client.sends("080100ffff2a2b")
        client.change([Self.gatt, Self.kept])
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        client.change([Self.gatt, Self.kept, Self.removed])
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        #expect(client.sends("0a0b00") == ["0b01"])
    }

    @Test func `a client without the feature is never refused`() {
        var client = client()
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends("0a0b00") == ["0b01"])
        #expect(client.sends("0a0f00") == ["010a0f0001"])
    }

    @Test func `writes that were prepared before the change are not executed`() {
        var client = robustClient()
        #expect(client.sends("160f00000009") == ["170f00000009"])
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends("1801") == ["01180f0012"])
        // The queue is empty, and what is prepared now is executed.
        #expect(client.sends("1801") == ["19"])
        #expect(client.sends("160b00000009") == ["170b00000009"])
        #expect(client.sends("1801") == ["19"])
        #expect(client.database.value(at: 11) == [9])
    }

    @Test func `cancelled writes leave no trace of the change`() {
        var client = robustClient()
        #expect(client.sends("160b00000009") == ["170b00000009"])
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends("1800") == ["19"])
        #expect(client.sends("160b00000009") == ["01160b0012"])
        #expect(client.sends("160b00000009") == ["170b00000009"])
        #expect(client.sends("1801") == ["19"])
    }

    // MARK: - Service Changed

    @Test func `a subscriber is told the range at once, and is aware when it confirms`() {
        var client = robustClient()
        #expect(client.sends("1204000200") == ["13"])
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.receives() == ["1d0300" + Self.changed])
        #expect(client.sends("1e") == [])
        #expect(client.sends("0a0b00") == ["0b01"])
    }

    @Test func `who has not subscribed is not told`() {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.receives() == [])
    }

    @Test func `nothing else is sent before the client is aware`() throws {
        var client = robustClient()
        _ = client.sends("1204000200")
        _ = client.sends("120c000100")
        try client.server.notify(11, [1], database: client.database)
        client.change([Self.gatt, Self.kept, Self.added])
        try client.server.notify(11, [2], database: client.database)
        // Values wait, also one that was queued before.
        #expect(client.receives() == ["1d0300" + Self.changed])
        #expect(client.sends("1e") == ["1b0b0001", "1b0b0002"])
        try client.server.notify(11, [3], database: client.database)
        #expect(client.receives() == ["1b0b0003"])
    }

    @Test func `a command that is lost by the change is told, and one without the right isn't`() {
        var client = robustClient()
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.sends("520b0005") == [] && client.database.value(at: 11) == [1])
        #expect(client.output.lostWrites.map(\.error) == [.databaseOutOfSync])
        _ = client.sends("0a0b00")
        _ = client.sends("0a0b00")
        _ = client.sends("520f0005")
        #expect(client.output.lostWrites.map(\.error) == [.invalidHandle])
        _ = client.sends("52080005")
        #expect(client.output.lostWrites.isEmpty)
    }

    @Test func `nothing waits for a client that nothing tells of the change`() throws {
        var client = robustClient()
        _ = client.sends("120c000100")
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(throws: ATTServer.SendRefusal.outOfSync) {
            try client.server.notify(11, [1], database: client.database)
        }
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        _ = client.sends("0a0b00")
        try client.server.notify(11, [2], database: client.database)
        #expect(client.receives() == ["1b0b0002"])
    }

    /// In the place of `kept`.
    private static let indicating = LocalService(BluetoothUUID(0xE000)) {  // 9
        LocalCharacteristic(BluetoothUUID(0xE001), [.read, .notify, .indicate], value: .stored([1]))  // 10, 11; 12
    }

    @Test func `what waits already is given up for a client that nothing tells of the change`() throws {
        var client = ServedClient([Self.gatt, Self.indicating, Self.removed])
        for request in ["12060001", "120c000300"] { #expect(client.sends(request) == ["13"]) }
        let sent = try client.server.indicate(11, [1], database: client.database)
        #expect(client.receives() == ["1d0b0001"])
        let waiting = try client.server.indicate(11, [2], database: client.database)
        client.database.replaceServices([Self.gatt, Self.indicating, Self.added])
        let output = client.server.synchronize(with: client.database)
        #expect(output.unconfirmed == [waiting])
        #expect(output.room == [.notifications, .indications])
        // The one that was sent can still be confirmed, and nothing follows it.
        #expect(client.sends("1e") == [])
        #expect(client.output.confirmed == [sent])
    }

    @Test func `what a change has dropped is told even by the PDU that ends the bearer`() throws {
        var limits = ATTServer.Limits()
        limits.outstandingRequests = 1
        var client = ServedClient([Self.gatt, Self.indicating], limits: limits)
        #expect(client.sends("120c000200") == ["13"])
        let sent = try client.server.indicate(11, [1], database: client.database)
        #expect(client.receives() == ["1d0b0001"])
        let waiting = try client.server.indicate(11, [2], database: client.database)
        let request = WireText.octets("0a0600")
        let first = client.server.received(request, security: .none, database: &client.database)
        #expect(first.close == nil)
        client.database.replaceServices([Self.gatt])
        // The first one is not answered yet.
        let second = client.server.received(request, security: .none, database: &client.database)
        #expect(second.close != nil)
        #expect(second.unconfirmed == [waiting, sent])
    }

    @Test func `nothing waits for an indication of Service Changed that the client has unsubscribed from`() throws {
        var client = ServedClient([Self.gatt, Self.indicating, Self.removed])
        for request in ["12060001", "1204000200", "120c000300"] { #expect(client.sends(request) == ["13"]) }
        _ = try client.server.indicate(11, [1], database: client.database)
        #expect(client.receives() == ["1d0b0001"])
        // Service Changed waits for the confirmation, and is dropped when the client unsubscribes.
        client.change([Self.gatt, Self.indicating, Self.added])
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        #expect(client.sends("1204000000") == ["13"])
        client.change([Self.gatt, Self.indicating])
        #expect(throws: ATTServer.SendRefusal.outOfSync) {
            try client.server.notify(11, [2], database: client.database)
        }
    }

    @Test func `nothing waits for a client that answers Service Changed with an error`() throws {
        var client = ServedClient([Self.gatt, Self.indicating, Self.removed])
        for request in ["12060001", "1204000200", "120c000300"] { #expect(client.sends(request) == ["13"]) }
        client.change([Self.gatt, Self.indicating, Self.added])
        let waiting = try client.server.indicate(11, [1], database: client.database)
        #expect(client.receives() == ["1d0300" + Self.changed])
        // No handler: Request Not Supported.
        #expect(client.sends("011d030006") == [])
        #expect(client.output.unconfirmed == [waiting])
        #expect(client.output.room == [.notifications, .indications])
        #expect(throws: ATTServer.SendRefusal.outOfSync) {
            try client.server.notify(11, [2], database: client.database)
        }
        // It isn't aware, and is not told the same again.
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        #expect(client.sends("0a0b00") == ["0b01"])
        try client.server.notify(11, [3], database: client.database)
        #expect(client.receives() == ["1b0b0003"])
    }

    @Test(arguments: [false, true])
    func `who waits until all is taken is woken once nothing tells the client of the change`(isTold: Bool) throws {
        var client = robustClient()
        if isTold { #expect(client.sends("1204000200") == ["13"]) }
        #expect(client.sends("120c000100") == ["13"])
        try client.server.notify(11, [1], database: client.database)
        let isEmpty = client.server.watchForEmptiness(of: 11)
        #expect(!isEmpty)
        client.database.replaceServices([Self.gatt, Self.kept, Self.added])
        var output = client.server.synchronize(with: client.database)
        if isTold {
            // Its wait has a time limit: that of the indication.
            #expect(!output.room.contains(.empty) && !client.server.waitsForClient)
            #expect(client.receives() == ["1d0300" + Self.changed])
            #expect(client.sends("011d030006") == [])
            output = client.output
        }
        #expect(output.room == [.notifications, .indications, .empty])
        #expect(client.server.waitsForClient)
        // What waits is not lost.
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        #expect(client.sends("0a0b00") == ["0b01", "1b0b0001"])
        #expect(!client.server.waitsForClient)
    }

    @Test func `an older indication makes nobody aware of a newer change`() {
        var client = robustClient()
        _ = client.sends("1204000200")
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.receives() == ["1d0300" + Self.changed])
        client.change([Self.gatt, Self.kept])
        #expect(client.receives() == [])
        // The next one tells of all that has not been confirmed.
        #expect(client.sends("1e") == ["1d0300" + Self.changed])
        #expect(client.sends("0a0b00") == ["010a0b0012"])
        _ = client.sends("1e")
        #expect(client.sends("0a0b00") == ["0b01"])
    }

    @Test func `subscriptions to what is gone end, the others go on`() throws {
        var client = client()
        _ = client.sends("120c000100")
        _ = client.sends("1210000100")
        client.change([Self.gatt, Self.kept, Self.added])
        #expect(client.changes == [.init(characteristic: 15, subscription: .none)])
        try client.server.notify(11, [5], database: client.database)
        #expect(client.receives() == ["1b0b0005"])
        #expect(throws: ATTServer.SendRefusal.unknownCharacteristic) {
            try client.server.notify(15, [5], database: client.database)
        }
    }

    @Test func `a client that is known from before is told what it missed`() {
        var client = robustClient()
        _ = client.sends("1204000200")
        _ = client.server.ended()
        var later = ServedClient(client.database)
        later.server = ATTServer(maximumMTU: 517, client: client.server.client)
        later.database.replaceServices([Self.gatt, Self.kept, Self.added])
        #expect(later.sends("0a0b00") == ["010a0b0012", "1d0300" + Self.changed])
        // It left again without confirming: the next connection tells it once more.
        _ = later.server.ended()
        var last = ServedClient(later.database)
        last.server = ATTServer(maximumMTU: 517, client: later.server.client)
        #expect(last.sends("021700") == ["030502", "1d0300" + Self.changed])
    }
}

extension ServedClient {
    /// The services become others, and the server is told.
    fileprivate mutating func change(_ services: [LocalService]) {
        let isDifferent = database.replaceServices(services)
        #expect(isDifferent)
        changes = server.synchronize(with: database).subscriptionChanges
    }
}
