import BLEProtocol
import Testing

/// Several values in one notification (Core Specification, Vol 3, Part F, 3.4.7.4).
@Suite struct ATTServerMultipleNotificationTests {
    private static let services = [
        LocalService(BluetoothUUID(0x1801)) {  // 1
            LocalCharacteristic(BluetoothUUID(0x2B29), [.read, .write])  // 2, 3
        },
        LocalService(BluetoothUUID(0xA000)) {  // 4
            LocalCharacteristic(BluetoothUUID(0xA001), [.notify])  // 5, 6; 7 configures
            LocalCharacteristic(BluetoothUUID(0xA002), [.notify])  // 8, 9; 10 configures
        },
    ]

    private func subscriber(features: String) -> ServedClient {
        var client = ServedClient(Self.services)
        if features != "00" { #expect(client.sends("120300" + features) == ["13"]) }
        #expect(client.sends("1207000100") == ["13"])
        #expect(client.sends("120a000100") == ["13"])
        return client
    }

    private let pair: [(handle: UInt16, value: [UInt8])] = [(6, [1, 2]), (9, [3])]

    @Test func `a client with the bit gets one PDU`() throws {
        var client = subscriber(features: "04")
        try client.server.notify(pair, database: client.database)
        #expect(client.receives() == ["23" + "060002000102" + "0900010003"])
    }

    @Test func `a client without the bit gets one notification for each`() throws {
        var client = subscriber(features: "00")
        try client.server.notify(pair, database: client.database)
        #expect(client.receives() == ["1b06000102", "1b090003"])
    }

    @Test func `what doesn't fit one PDU comes in several, each cut by itself`() throws {
        var client = subscriber(features: "04")
        let long = [UInt8](repeating: 0xAA, count: 25)
        try client.server.notify([(6, [1]), (9, long)], database: client.database)
        #expect(client.receives() == ["1b060001", "1b0900" + String(repeating: "aa", count: 20)])
        client.exchangesMTU(64)
        try client.server.notify([(6, [1]), (9, long)], database: client.database)
        #expect(client.receives() == ["230600010001" + "09001900" + String(repeating: "aa", count: 25)])
    }

    @Test func `a window that groups keep full has room again when they have left`() throws {
        var client = subscriber(features: "04")
        for _ in 0..<4 { try client.server.notify(pair, database: client.database) }
        #expect(throws: ATTServer.SendRefusal.full) {
            _ = try client.server.notify(6, [1], .window(4), database: client.database)
        }
        var passed = 0
        while client.server.nextPDU() != nil {
            passed += 1
            if client.server.sent().room.contains(.notifications) { break }
        }
        #expect(passed == 2)
    }

    @Test func `that all values of one characteristic are taken is reported while another one's wait`() throws {
        var client = subscriber(features: "04")
        try client.server.notify(6, [1], database: client.database)
        try client.server.notify(pair, database: client.database)
        for value in 7..<9 as Range<UInt8> { try client.server.notify(9, [value], database: client.database) }
        func isTaken() -> Bool { client.server.watchForEmptiness(of: 6) }
        #expect(!isTaken())
        #expect(client.server.nextPDU() != nil && !isTaken())
        #expect(client.server.sent().room.isEmpty && !isTaken())
        // Both are handed out together, and aren't sent yet.
        #expect(client.server.nextPDU()?.first == 0x23 && !isTaken())
        #expect(client.server.sent().room == .empty && isTaken())
        // What is handed out is another one's.
        #expect(client.server.nextPDU() != nil && isTaken())
        #expect(client.server.sent().room.isEmpty && client.receives() == ["1b090008"])
    }

    @Test func `all of them must be subscribed to`() throws {
        var client = subscriber(features: "04")
        _ = client.sends("120a000000")
        #expect(throws: ATTServer.SendRefusal.notSubscribed) {
            try client.server.notify(pair, database: client.database)
        }
        #expect(client.receives() == [])
    }

    @Test func `what is no longer wanted leaves the group before it is sent`() throws {
        var client = subscriber(features: "04")
        try client.server.notify(pair, database: client.database)
        #expect(client.sends("120a000000") == ["13", "1b06000102"])
    }
}
