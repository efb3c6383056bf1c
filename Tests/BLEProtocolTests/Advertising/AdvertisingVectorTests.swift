import Testing

@testable import BLEProtocol

/// What BlueZ's parser makes of advertisements.
@Suite(.enabled(if: VectorFile.arePresent, VectorFile.why)) struct AdvertisingVectorTests {
    private struct Vectors: Decodable {
        let tests: [Vector]
    }

    private struct Vector: Decodable {
        struct Field: Decodable {
            let type: UInt8
            let data: String
        }
        struct Manufacturer: Decodable {
            let company: UInt16
            let data: String
        }
        struct Service: Decodable {
            let uuid: String
            let data: String
        }
        struct Expectation: Decodable {
            let flags: UInt8?
            let name: String?
            let nameComplete: Bool?
            let txPower: Int8?
            let serviceUuids: [String]
            let manufacturerData: [Manufacturer]
            let serviceData: [Service]
            let appearance: UInt16?
            let otherFields: [Field]
        }
        let name: String
        let data: String
        let fields: [Field]
        let expect: Expectation
    }

    @Test func `advertisements mean what BlueZ reads in them`() throws {
        let tests = try VectorFile.load("eir_vectors.json", as: Vectors.self).tests
        for test in tests {
            let advertisement = AdvertisingData(bytes: WireText.octets(test.data))
            let expected = test.expect
            let comment = Comment(rawValue: test.name)

            #expect(advertisement.map(\.type.rawValue) == test.fields.map(\.type), comment)
            #expect(advertisement.map { WireText.text($0.data) } == test.fields.map(\.data), comment)
            #expect(advertisement.flags?.rawValue == expected.flags, comment)
            #expect(advertisement.txPower == expected.txPower, comment)
            #expect(advertisement.appearance == expected.appearance, comment)

            // BlueZ lists a service as often as it occurs, this library once.
            var services: [BluetoothUUID] = []
            for uuid in expected.serviceUuids.compactMap(BluetoothUUID.init) where !services.contains(uuid) {
                services.append(uuid)
            }
            #expect(advertisement.serviceUUIDs == services, comment)
            #expect(advertisement.manufacturerData.map(\.company) == expected.manufacturerData.map(\.company), comment)
            #expect(
                advertisement.manufacturerData.map { WireText.text($0.data) }
                    == expected.manufacturerData.map(\.data),
                comment
            )
            #expect(
                advertisement.serviceData.map(\.service)
                    == expected.serviceData.compactMap { BluetoothUUID($0.uuid) },
                comment
            )
            #expect(
                advertisement.serviceData.map { WireText.text($0.data) } == expected.serviceData.map(\.data),
                comment
            )
            // BlueZ lets the last name win, even a shortened one; here the complete name stays.
            if test.name == "/edge/name-complete-then-short" {
                #expect(advertisement.localName == "ABCDE" && advertisement.isLocalNameComplete)
            } else {
                #expect(advertisement.localName == expected.name, comment)
                #expect(advertisement.isLocalNameComplete == (expected.nameComplete ?? false), comment)
            }
        }
        #expect(tests.count >= 53)
        print("advertising vectors: \(tests.count)")
    }

    /// The other direction: the structures that were read, written again.
    @Test func `structures are written as they were read`() throws {
        for test in try VectorFile.load("eir_vectors.json", as: Vectors.self).tests {
            let fields = test.fields.map {
                AdvertisingData.Field.raw(AdvertisingData.FieldType(rawValue: $0.type), WireText.octets($0.data))
            }
            let written = WireText.text(try AdvertisingData(fields, limit: 1000).bytes)
            #expect(test.data.hasPrefix(written), Comment(rawValue: test.name))
            // Two digits for each octet, and for the length and the type of each structure.
            let digits = test.fields.reduce(0) { $0 + 4 + $1.data.count }
            #expect(written.count == digits, Comment(rawValue: test.name))
        }
    }
}
