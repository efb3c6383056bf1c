import Testing

@testable import BLEProtocol

@Suite struct AdvertisingFieldTests {
    private func built(_ fields: AdvertisingData.Field...) throws -> String {
        WireText.text(try AdvertisingData(fields, limit: 251).bytes)
    }

    private func text(_ text: String) -> String { text.filter { $0 != " " } }

    @Test func `each field is its length, its type and its data`() throws {
        #expect(try built(.flags([.generalDiscoverable, .classicNotSupported])) == "020106")
        #expect(try built(.localName("Ä1")) == text("0409 c38431"))
        #expect(try built(.localName("AB", isComplete: false)) == text("0308 4142"))
        #expect(try built(.txPower(-20)) == "020aec")
        #expect(try built(.appearance(0x03C1)) == text("0319 c103"))
        #expect(try built(.manufacturerData(0x004C, [1, 2])) == text("05ff 4c00 0102"))
        #expect(try built(.raw(AdvertisingData.FieldType(rawValue: 0x77), [0xAB])) == "0277ab")
    }

    @Test func `services make one list for each width`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        let services = [own, BluetoothUUID(0x180D), BluetoothUUID(bits32: 0x1234_5678), BluetoothUUID(0x180F)]
        let ownText = "1bc5d5a50200469ae111b78d60b4452d"
        #expect(try built(.services(services)) == text("0503 0d180f18 0505 78563412 1107") + ownText)
        #expect(
            try built(.services(services, isComplete: false)) == text("0502 0d180f18 0504 78563412 1106") + ownText
        )
        #expect(try built(.solicitedServices(services)) == text("0514 0d180f18 051f 78563412 1115") + ownText)
        #expect(try built(.services([])) == "")
    }

    @Test func `service data has the shortest UUID in front`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        #expect(try built(.serviceData(BluetoothUUID(0x180D), [1])) == text("0416 0d18 01"))
        #expect(try built(.serviceData(BluetoothUUID(bits32: 0x1234_5678), [1])) == text("0620 78563412 01"))
        #expect(try built(.serviceData(own, [])) == text("1121 1bc5d5a50200469ae111b78d60b4452d"))
    }

    @Test func `the interval is rounded down to the steps of the air`() throws {
        #expect(try built(.advertisingInterval(.milliseconds(100))) == text("031a a000"))
        #expect(try built(.advertisingInterval(.microseconds(625 * 65536))) == text("042f 000001"))
        #expect(try built(.advertisingInterval(.microseconds(625 * 16_777_216))) == text("052f 00000001"))
        #expect(try built(.advertisingInterval(.seconds(1 << 40))) == text("052f ffffffff"))
        #expect(try built(.advertisingInterval(.seconds(-1))) == text("031a 0000"))
    }

    @Test func `a URI's scheme becomes its code`() throws {
        #expect(try built(.uri("https://a.b")) == text("0724 17 2f2f612e62"))
        #expect(try built(.uri("HTTP://a")) == text("0524 16 2f2f61"))
        #expect(try built(.uri("nobody:a")) == text("0a24 01 6e6f626f64793a61"))
        #expect(try built(.uri("ms-settings-cloudstorage:a")) == text("0424 c2ba 61"))
    }

    @Test func `what was built is read back`() throws {
        let advertisement = try AdvertisingData([
            .flags(.generalDiscoverable), .localName("Thermometer"), .services([BluetoothUUID(0x1809)]),
        ])
        #expect(advertisement.flags == .generalDiscoverable && advertisement.localName == "Thermometer")
        #expect(advertisement.serviceUUIDs == [BluetoothUUID(0x1809)])
        #expect(advertisement.bytes.count == 20)
    }

    @Test func `31 octets fit and 32 name the field that doesn't`() throws {
        #expect(try AdvertisingData([.localName(String(repeating: "n", count: 29))]).bytes.count == 31)
        let error = #expect(throws: BLEError.self) {
            try AdvertisingData([
                .flags(.generalDiscoverable), .localName(String(repeating: "n", count: 27)), .txPower(0),
            ])
        }
        #expect(error?.code == .overflow)
        #expect(error?.object.hasPrefix("local name") == true)
        #expect(error?.cause == "it needs 29 octets with length and type, and 28 of 31 are free")
    }

    @Test func `an extended advertisement has room for more`() throws {
        let field = AdvertisingData.Field.manufacturerData(1, [UInt8](repeating: 0, count: 247))
        #expect(try AdvertisingData([field], limit: AdvertisingData.extendedLimit).bytes.count == 251)
        #expect(throws: BLEError.self) { try AdvertisingData([field]) }
        // One structure never holds more than 254 octets of data, whatever the limit.
        let long = AdvertisingData.Field.manufacturerData(1, [UInt8](repeating: 0, count: 253))
        #expect(throws: BLEError.self) { try AdvertisingData([long], limit: 1000) }
    }
}
