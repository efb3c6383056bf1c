import Testing

@testable import BLEProtocol

/// The client half against the server half, octet by octet and without a link between them.
@Suite struct BothHalvesTests {
    private struct Pair {
        var client = GATTClient(maximumMTU: 517)
        var server = ATTServer(maximumMTU: 517)
        var database: AttributeDatabase
        var values: [GATTClient.ReceivedValue] = []

        init(_ services: [LocalService]) { database = AttributeDatabase(services: services) }

        mutating func run<P: GATTProcedure>(_ procedure: P) throws -> P.Success {
            let (_, begun) = client.begin(procedure)
            let finished = try #require((begun.finished + exchange()).first)
            let success: P.Success? = try finished.result.get().value()
            return try #require(success)
        }

        /// Carries PDUs to and fro until both sides are silent.
        mutating func exchange() -> [GATTClient.Finished] {
            var finished: [GATTClient.Finished] = []
            while true {
                if let pdu = client.nextPDU() {
                    finished += client.sent().finished
                    _ = server.received(pdu, security: .none, database: &database)
                } else if let pdu = server.nextPDU() {
                    _ = server.sent()
                    let output = client.received(pdu, at: Bearer.time)
                    finished += output.finished
                    values += output.values
                    server.setMTU(client.mtu)
                } else {
                    return finished
                }
            }
        }
    }

    private let own: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E0F"
    private let long = [UInt8]((0..<400).map { UInt8(truncatingIfNeeded: $0) })

    private func pair() -> Pair {
        Pair([
            LocalService(BluetoothUUID(0x180D), includes: ["battery"]) {
                LocalCharacteristic(BluetoothUUID(0x2A37), [.notify, .indicate])
                LocalCharacteristic(BluetoothUUID(0x2A38), .read, value: .stored([1]))
            },
            LocalService(BluetoothUUID(0x180F), isPrimary: false, id: "battery") {
                LocalCharacteristic(BluetoothUUID(0x2A19), [.read, .notify], value: .stored([100]))
            },
            LocalService(own) {
                LocalCharacteristic(own, [.read, .write, .writeWithoutResponse], value: .stored(long))
            },
        ])
    }

    @Test(arguments: [false, true])
    func `what is served is discovered`(exchangesMTU: Bool) throws {
        var pair = pair()
        if exchangesMTU { #expect(try pair.run(ExchangeMTU()) == 517) }
        let found = try pair.run(DiscoverDatabase())
        #expect(found.services.map(\.uuid).contains(own))
        let heartRate = try #require(found.service(BluetoothUUID(0x180D)))
        let battery = try #require(found.service(BluetoothUUID(0x180F)))
        #expect(!battery.isPrimary)
        #expect(heartRate.includedServices.map(\.startHandle) == [battery.handle])
        #expect(heartRate.characteristics.map(\.properties) == [[.notify, .indicate], .read])
        let declared = pair.database.attributes(from: 1, through: 0xFFFF).filter {
            $0.type == AttributeType.characteristic
        }
        #expect(found.services.flatMap(\.characteristics).map(\.handle) == declared.map(\.handle))
        let configurations = found.services.flatMap(\.characteristics).filter { $0.clientConfiguration != nil }
        #expect(
            configurations.map(\.uuid)
                == found.services.flatMap(\.characteristics)
                .filter { !$0.properties.isDisjoint(with: [.notify, .indicate]) }.map(\.uuid)
        )
        let one = try pair.run(DiscoverDatabase(services: [own]))
        #expect(one.services == found.services.filter { $0.uuid == own })
    }

    @Test(arguments: [false, true], [0, 1, 18, 20, 21, 400, 512])
    func `values of any length are written and read back`(exchangesMTU: Bool, count: Int) throws {
        var pair = pair()
        if exchangesMTU { _ = try pair.run(ExchangeMTU()) }
        let handle = try #require(try pair.run(DiscoverDatabase()).characteristic(own)).valueHandle
        #expect(try pair.run(ReadValue(handle: handle)) == long)
        #expect(try pair.run(ReadValue(handle: handle, offset: 399)) == long.suffix(1))
        let value = [UInt8](repeating: 0xC3, count: count)
        try pair.run(WriteValue(handle: handle, value: value))
        #expect(try pair.run(ReadValue(handle: handle)) == value)
        try pair.run(WriteValue(handle: handle, value: [7]))
        try pair.run(LongWrite(handle: handle, value: value, isVerified: true))
        #expect(try pair.run(ReadValue(handle: handle)).prefix(count) == value[...])
        try pair.run(WriteCommand(handle: handle, value: [1, 2, 3]))
        #expect(try pair.run(ReadValue(handle: handle)) == [1, 2, 3])
    }

    @Test(arguments: [false, true])
    func `what is subscribed to arrives, and an indication is confirmed`(isIndicated: Bool) throws {
        var pair = pair()
        let characteristic = try #require(try pair.run(DiscoverDatabase()).characteristic(BluetoothUUID(0x2A37)))
        let handle = characteristic.valueHandle
        let configuration = try #require(characteristic.clientConfiguration).handle
        try pair.run(WriteValue(handle: configuration, value: [isIndicated ? 2 : 1, 0]))
        if isIndicated {
            _ = try pair.server.indicate(handle, [1, 2], database: pair.database)
            _ = try pair.server.indicate(handle, [3], database: pair.database)
        } else {
            try pair.server.notify(handle, [1, 2], database: pair.database)
        }
        _ = pair.exchange()
        #expect(pair.values.map { Array($0.value) } == (isIndicated ? [[1, 2], [3]] : [[1, 2]]))
        #expect(pair.values.allSatisfy { $0.handle == handle && $0.isIndication == isIndicated })
    }

    @Test func `several values are read at once, and errors carry their handle`() throws {
        var pair = pair()
        let found = try pair.run(DiscoverDatabase())
        let body = try #require(found.characteristic(BluetoothUUID(0x2A38))).valueHandle
        let level = try #require(found.characteristic(BluetoothUUID(0x2A19))).valueHandle
        let beat = try #require(found.characteristic(BluetoothUUID(0x2A37))).valueHandle
        #expect(try pair.run(ReadMultiple(handles: [body, level])) == [1, 100])
        #expect(try pair.run(ReadMultipleVariable(handles: [body, level])).map(\.value) == [[1], [100]])
        #expect(try pair.run(ReadByUUID(BluetoothUUID(0x2A19))) == [ReadByUUID.Value(handle: level, value: [100])])
        #expect(throws: GATTFailure.attribute(.readNotPermitted, handle: beat)) {
            try pair.run(ReadValue(handle: beat))
        }
        #expect(throws: GATTFailure.attribute(.writeNotPermitted, handle: body)) {
            try pair.run(WriteValue(handle: body, value: [1]))
        }
    }
}
