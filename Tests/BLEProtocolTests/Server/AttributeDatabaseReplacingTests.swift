import BLEProtocol
import Testing

@Suite struct AttributeDatabaseReplacingTests {
    private static func service(_ number: UInt16, includes: [String] = [], values: Int = 1) -> LocalService {
        LocalService(BluetoothUUID(number), includes: includes) {
            for index in 1...UInt16(values) {
                LocalCharacteristic(BluetoothUUID(number + index), [.read, .write], value: .stored([1]))
            }
        }
    }

    private func change(_ database: AttributeDatabase) -> DatabaseChange? { database.history.change(since: 0) }

    @Test func `what is described as before keeps its handles and its values`() {
        var database = AttributeDatabase(services: [Self.service(0xA000), Self.service(0xB000), Self.service(0xC000)])
        database.store([7, 7], at: 9)
        let isDifferent = database.replaceServices([Self.service(0xC000), Self.service(0xA000)])
        #expect(isDifferent)
        #expect(database.attributes.map(\.handle) == [1, 2, 3, 7, 8, 9])
        #expect(database.value(at: 9) == [7, 7])
        #expect(database.characteristics.map(\.valueHandle) == [3, 9])
        #expect(change(database)?.affected == 4...6)
        #expect(change(database)?.removed == [4...6])
    }

    @Test func `a new service lies behind all that were there, and the range spans both`() {
        var database = AttributeDatabase(services: [Self.service(0xA000), Self.service(0xB000)])
        let isDifferent = database.replaceServices([Self.service(0xC000, values: 2), Self.service(0xB000)])
        #expect(isDifferent)
        #expect(database.attributes.map(\.handle) == Array(4...11))
        #expect(database.valueHandle(of: "C002") == 11)
        #expect(change(database)?.affected == 1...11)
    }

    @Test func `a new service gets no handle of one that was removed before`() {
        var database = AttributeDatabase(services: [Self.service(0xA000), Self.service(0xB000)])
        database.replaceServices([Self.service(0xA000)])
        database.replaceServices([Self.service(0xA000), Self.service(0xC000)])
        #expect(database.attributes.map(\.handle) == [1, 2, 3, 7, 8, 9])
        // Nor does one that returns: a client may not have seen that it was gone.
        database.replaceServices([Self.service(0xB000)])
        #expect(database.attributes.map(\.handle) == [10, 11, 12])
    }

    @Test func `the same services are no change`() {
        var database = AttributeDatabase(services: [Self.service(0xA000), Self.service(0xB000)])
        let before = database.attributes
        let isDifferent = database.replaceServices([Self.service(0xB000), Self.service(0xA000)])
        #expect(!isDifferent)
        #expect(database.attributes == before && database.history.version == 0)
    }

    @Test func `a service that includes a moved one changes with it`() {
        var database = AttributeDatabase(services: [
            Self.service(0xA000, includes: ["B000"]), Self.service(0xB000), Self.service(0xC000),
        ])
        database.store([7, 7], at: 4)
        database.replaceServices([
            Self.service(0xA000, includes: ["B000"]), Self.service(0xB000, values: 2), Self.service(0xC000),
        ])
        // Service B000 now lies at 11 to 15: the include says so.
        #expect(database.attribute(at: 2)?.content == .constant([11, 0, 15, 0, 0x00, 0xB0]))
        #expect(database.value(at: 4) == [7, 7])
        #expect(change(database)?.affected == 1...15)
        #expect(change(database)?.hasRemoved(4) == true && change(database)?.hasRemoved(9) == false)
    }

    @Test func `handles that have run out are dealt anew`() {
        var database = AttributeDatabase(services: [Self.service(0xA000), Self.service(0xB000)])
        var compacted = 0
        for round in UInt16(0)..<4 {
            // 20 001 handles each time: the fourth doesn't fit behind the others.
            database.replaceServices([Self.service(0xA000), Self.service(0xB000 + round, values: 10_000)])
            #expect(database.attributes.count == 20_004 && database.value(at: 3) == [1])
            if database.attributes.last?.handle == 20_004 { compacted += 1 }
        }
        #expect(compacted == 1)
    }

    @Test func `a service that moves since the handles have run out keeps its values`() {
        var database = AttributeDatabase(services: [Self.service(0xB000), Self.service(0xA000)])
        database.store([7, 7], at: 6)
        // All handles behind the others, up to the last one.
        database.replaceServices([Self.service(0x3000, values: 32_764), Self.service(0xA000)])
        #expect(database.attributes.last?.handle == 0xFFFF && database.value(at: 6) == [7, 7])
        database.replaceServices([Self.service(0xC000, values: 2), Self.service(0xA000)])
        #expect(database.attributes.map(\.handle) == Array(1...8))
        #expect(database.valueHandle(of: "A001") == 8 && database.value(at: 8) == [7, 7])
    }

    @Test func `several changes are told as one, and too many as everything`() {
        var database = AttributeDatabase(services: [Self.service(0xA000)])
        for round in 1...20 { database.replaceServices([Self.service(0xA000), Self.service(0xB000, values: round)]) }
        #expect(database.history.version == 20)
        #expect(database.history.change(since: 0)?.affected == 1...0xFFFF)
        #expect(database.history.change(since: 20) == nil)
        let last = database.history.change(since: 18)
        #expect(last?.removed.count == 2 && last?.affected.lowerBound ?? 0 > 3)
    }
}
