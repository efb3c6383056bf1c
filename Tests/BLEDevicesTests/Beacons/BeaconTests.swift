import Testing

@testable import BLEDevices
@testable import BLEProtocolTests

/// Beacons, against payloads that were published elsewhere.
@Suite struct BeaconTests {
    private func advertisement(_ text: String) -> AdvertisingData { AdvertisingData(bytes: WireText.octets(text)) }

    private func text(_ fields: [AdvertisingData.Field]) throws -> String {
        WireText.text(try AdvertisingLayout(fields).data.bytes)
    }

    // MARK: - iBeacon

    /// The AirLocate sample's UUID; the payload is what such beacons send.
    private static let airLocate = "0201061aff4c000215e2c56db5dffb48d2b060d0f5a71096e000010002c5"

    @Test func `an iBeacon is read and written, most significant octets first`() throws {
        let uuid: BluetoothUUID = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
        let beacon = IBeacon(uuid: uuid, major: 1, minor: 2, measuredPower: -59)
        #expect(IBeacon(advertisement(Self.airLocate)) == beacon)
        #expect(try text(beacon.fields) == Self.airLocate)
    }

    @Test(
        arguments: [
            "", "020106", "05ff4c000215", "1aff4d000215e2c56db5dffb48d2b060d0f5a71096e000010002c5",
            "1aff4c001015e2c56db5dffb48d2b060d0f5a71096e000010002c5",
            "1bff4c000215e2c56db5dffb48d2b060d0f5a71096e000010002c500",
        ]
    )
    func `what is no iBeacon is none`(_ text: String) { #expect(IBeacon(advertisement(text)) == nil) }

    // MARK: - Eddystone

    @Test func `an Eddystone identifier is read, with and without the reserved octets`() throws {
        let frame = "00e7001122334455667788990000000000010000"
        let beacon = Eddystone.identifier(
            namespace: WireText.octets("00112233445566778899"),
            instance: [0, 0, 0, 0, 0, 1],
            power: -25
        )
        let whole = "0201060303aafe1716aafe" + frame
        #expect(Eddystone(advertisement(whole)) == beacon)
        #expect(try text(beacon.fields) == whole)
        #expect(Eddystone(advertisement("0303aafe1516aafe\(frame.dropLast(4))")) == beacon)
        #expect(Eddystone(advertisement("0303aafe1416aafe\(frame.dropLast(6))")) == nil)
    }

    @Test(
        arguments: [
            ("https://goo.gl/Aq18zF", "0103676f6f2e676c2f417131387a46"),
            ("http://www.example.com/", "01006578616d706c6500"),
            ("https://www.example.org", "01016578616d706c6508"), ("http://a.info/b.biz", "01026104620c"),
        ]
    )
    func `an Eddystone URL is shortened and written out`(_ url: String, _ octets: String) throws {
        let power = octets.prefix(2)
        let beacon = Eddystone.url(url, power: 1)
        let frame = "16aafe10\(power)\(octets.dropFirst(2))"
        let length = WireText.text([UInt8(frame.count / 2)])
        #expect(try text(beacon.fields) == "0201060303aafe" + length + frame)
        #expect(Eddystone(advertisement(length + frame)) == beacon)
    }

    @Test(arguments: ["ftp://a.org", "https://a b.org", "https://ä.org", "https://abcdefghijklmnopqr.com"])
    func `a URL that can't be sent is refused with the cause`(_ url: String) {
        let error = #expect(throws: BLEError.self) { try Eddystone.url(url, power: 0).fields }
        #expect(error?.code == .invalidArgument && error?.remedy.isEmpty == false)
    }

    @Test func `telemetry has its steps, and a temperature that may be unknown`() throws {
        let telemetry = Eddystone.Telemetry(
            batteryMillivolts: 3000,
            temperature: 24.5,
            advertisementCount: 300,
            uptime: .seconds(100)
        )
        let frame = "1116aafe20000bb818800000012c000003e8"
        #expect(Eddystone(advertisement(frame)) == .telemetry(telemetry))
        #expect(try text(Eddystone.telemetry(telemetry).fields) == "0201060303aafe" + frame)
        let unknown = Eddystone.Telemetry(advertisementCount: 1, uptime: .zero)
        let data = try AdvertisingLayout(Eddystone.telemetry(unknown).fields).data
        #expect(Eddystone(data) == .telemetry(unknown))
        // An encrypted one, and an identifier that changes.
        #expect(Eddystone(advertisement("1116aafe20010bb818800000012c000003e8")) == nil)
        #expect(Eddystone(advertisement("0d16aafe30000102030405060708")) == nil)
    }

    @Test(arguments: [0, 3, 9_999, 117_440_514, .max] as [UInt32])
    func `an uptime is sent in as many steps as it has`(tenths: UInt32) throws {
        let uptime: Duration = .milliseconds(100) * Int(tenths)
        let telemetry = Eddystone.telemetry(.init(advertisementCount: 1, uptime: uptime))
        #expect(Eddystone(try AdvertisingData(telemetry.fields)) == telemetry)
    }
}
