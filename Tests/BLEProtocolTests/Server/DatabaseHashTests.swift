import BLEProtocol
import Testing

@Suite struct DatabaseHashTests {
    /// The database of the specification's example, with a gap where its last two services begin.
    private static let sample = [
        LocalService(BluetoothUUID(0x1800)) {
            LocalCharacteristic(BluetoothUUID(0x2A00), [.read, .write])
            LocalCharacteristic(BluetoothUUID(0x2A01), [.read])
        },
        LocalService(BluetoothUUID(0x1801)) {
            LocalCharacteristic(BluetoothUUID(0x2A05), [.indicate])
            LocalCharacteristic(BluetoothUUID(0x2B29), [.read, .write])
            LocalCharacteristic(BluetoothUUID(0x2B2A), [.read])
        },
    ]

    struct Vectors: Decodable {
        struct Answers: Decodable { var databaseHash: Answer }
        struct Answer: Decodable {
            struct Line: Decodable {
                var handle: UInt16
                var type: String
                var value: String?
            }
            var attributes: [Line]
            var hashLsbFirst: String
        }
        var knownAnswers: Answers
    }

    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `all databases of the vectors have the hash that the specification gives them`() throws {
        let databases = try VectorFile.load("gatt_vectors.json", as: GATTServerConversations.self).databases
        #expect(databases.count == 6)
        for (name, lines) in databases {
            let expected = try #require(lines.databaseHash).specOnAirLsbFirst
            #expect(WireText.text(AttributeDatabase(lines).computedHash()) == expected, "\(name)")
        }
    }

    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `the specification's example has its hash`() throws {
        let answer = try VectorFile.load("gatt_vectors.json", as: Vectors.self).knownAnswers.databaseHash
        let attributes = try answer.attributes.map { line in
            Attribute(
                handle: line.handle,
                type: try #require(BluetoothUUID(line.type)),
                permissions: .readOnly,
                content: line.value.map { .constant(WireText.octets($0)) } ?? .dynamic
            )
        }
        let database = AttributeDatabase(attributes: attributes, characteristics: [])
        #expect(WireText.text(database.computedHash()) == answer.hashLsbFirst)
    }

    @Test func `the attribute has the hash of the database that it is in`() {
        let database = AttributeDatabase(services: Self.sample)
        guard case .databaseHash(let hash)? = database.attribute(at: 13)?.content else {
            Issue.record("attribute 13 is not the hash")
            return
        }
        #expect(hash == database.computedHash() && hash.count == 16)
    }

    @Test func `values don't count, declarations do`() {
        var database = AttributeDatabase(services: Self.sample)
        let before = database.computedHash()
        database.store(Array("other".utf8), at: 3)
        #expect(database.computedHash() == before)
        var services = Self.sample
        services[0].characteristics[0].properties = [.read]
        database.replaceServices(services)
        #expect(database.computedHash() != before)
    }

    @Test func `a client reads the hash by its type and can't write it`() {
        var client = ServedClient(Self.sample)
        let hash = WireText.text(client.database.computedHash())
        #expect(client.sends("080100ffff2a2b") == ["0912" + "0d00" + hash])
        #expect(client.sends("0a0d00") == ["0b" + hash])
        #expect(client.sends("120d0001") == ["01120d0003"])
    }

    @Test func `the mandatory services come with what caching needs`() {
        let services = [LocalService]().addingMandatoryServices(name: "A", appearance: 0)
        let database = AttributeDatabase(services: services)
        #expect(database.characteristics.map(\.uuid.short) == [0x2A00, 0x2A01, 0x2A05, 0x2B29, 0x2B2A])
        #expect(database.serviceChanged?.properties == .indicate)
        let fixed = [LocalService]().addingMandatoryServices(name: "A", appearance: 0, canChange: false)
        #expect(AttributeDatabase(services: fixed).serviceChanged == nil)
    }
}
