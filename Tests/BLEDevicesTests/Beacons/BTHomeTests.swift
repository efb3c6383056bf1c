import Testing

@testable import BLEDevices
@testable import BLEProtocolTests

/// BTHome, against the examples of the format's own description.
@Suite struct BTHomeTests {
    private func advertisement(_ text: String) -> AdvertisingData { AdvertisingData(bytes: WireText.octets(text)) }

    private func text(_ fields: [AdvertisingData.Field]) throws -> String {
        WireText.text(try AdvertisingLayout(fields).data.bytes)
    }

    /// The examples of the format's own description.
    private static let examples: [(String, Double)] = [
        ("0009", 9), ("0161", 97), ("02ca09", 25.06), ("03bf13", 50.55), ("04138a01", 1008.83), ("05138a14", 13460.67),
        ("0960", 96), ("0a138a14", 1346.067), ("0b021b00", 69.14), ("0c020c", 3.074), ("0d120c", 3090),
        ("0e021c", 7170),
        ("1100", 0), ("12e204", 1250), ("133301", 307), ("1c01", 1), ("2e23", 35), ("3a02", 2), ("3c0103", 769),
        ("3d0960", 24585),
        ("3e2a2c0960", 1_611_213_866), ("3f020c", 307.4), ("400c00", 12), ("414e00", 7.8), ("424e3400", 13.39),
        ("434e34", 13.39), ("444e34", 133.9), ("451101", 27.3), ("4a020c", 307.4), ("4d12138a14", 344593.17),
        ("518756", 22.151), ("528756", 22.151), ("57ea", -22), ("58ea", -7.7), ("59ea", -22), ("5aeaea", -5398),
        ("5bea0234ea", -365_690_134), ("5c02fbffff", -12.78), ("5d02ea", -5.63), ("5e9f8c", 359.99), ("f00100", 1),
    ]

    /// The examples of the format's own receiver, for the objects that came last.
    private static let latest: [(String, Double)] = [
        ("5f11d5", 5454.5), ("6001", 1), ("61ac0d", 3500), ("624099dfff", -2.123456), ("630057d0ff", -3.123456),
        ("6402", 2),
    ]

    @Test func `each object has the width and the factor of the format, in both directions`() throws {
        for (octets, value) in Self.examples + Self.latest {
            let data = "d2fc40" + octets
            let service = WireText.text([UInt8(data.count / 2 + 1), 0x16]) + data
            let reading = try #require(BTHome(advertisement(service)), "\(octets)")
            let measurement = try #require(reading.measurements.first, "\(octets)")
            #expect(measurement.object.rawValue == WireText.octets(octets)[0])
            #expect(measurement.value == value, "\(octets)")
            let made = try BTHome.Measurement(measurement.object, value)
            #expect(try text(BTHome([made]).fields) == "020106" + service, "\(octets)")
        }
    }

    /// As Shelly's weather station and its remote control advertise.
    @Test func `what stands behind rain and a channel is read`() throws {
        let station = try #require(BTHome(advertisement("0f16d2fc40000145e6005e3f755f11d5")))
        let names = ["packet id", "temperature 0x45", "direction", "precipitation"]
        #expect(station.measurements.compactMap(\.object.name) == names)
        #expect(station.measurements.map(\.value) == [1, 23, 300.15, 5454.5])
        let remote = try #require(BTHome(advertisement("1016d2fc4400073c01036002f1000a0001")))
        #expect(remote.measurements.compactMap(\.object.name) == ["packet id", "dimmer", "channel", "firmware"])
        #expect(remote.measurements.map(\.value) == [7, 769, 2, 16_779_776])
    }

    @Test func `the format's first example is read and written`() throws {
        let whole = "0201060b094449592d73656e736f720a16d2fc4002c40903bf13"
        let reading = try #require(BTHome(advertisement(whole)))
        #expect(reading[.temperature] == 25 && reading[.humidity] == 50.55 && reading[.battery] == nil)
        #expect(!reading.isTriggered)
        var fields = reading.fields
        fields.insert(.localName("DIY-sensor"), at: 1)
        #expect(try text(fields) == whole)
    }

    @Test func `objects are written in the order of their numbers`() throws {
        var reading = BTHome([try .init(.humidity, 50.55), try .init(.temperature, 25)], isTriggered: true)
        #expect(try text(reading.fields).hasSuffix("0a16d2fc4402c40903bf13"))
        reading.measurements.append(try .init(.packetID, 1))
        #expect(try text(reading.fields).hasSuffix("0c16d2fc44000102c40903bf13"))
        #expect(BTHome(try AdvertisingLayout(reading.fields).data) == reading)
    }

    @Test func `what is not understood ends the reading, text is passed over`() throws {
        // Temperature, text of two octets, an object that nobody knows.
        let reading = try #require(BTHome(advertisement("0c16d2fc405302484902ca09ee")))
        #expect(reading[.temperature] == 25.06 && reading.measurements.count == 1)
        #expect(BTHome(advertisement("0616d2fc4002ca"))?.measurements == [])
        // Encrypted, version 1, no device information.
        for text in ["0616d2fc4102ca", "0616d2fc2002ca", "0316d2fc", "0416d3fc40"] {
            #expect(BTHome(advertisement(text)) == nil)
        }
    }

    @Test func `a device's own address is not taken for measurements`() {
        // Two addresses; the second one looks like a temperature and a battery.
        for address in ["b2188d38c1a4", "02ca09016405"] {
            let reading = BTHome(advertisement("0e16d2fc42" + address + "04138a01"))
            #expect(reading?.measurements.map(\.object) == [.pressure] && reading?[.pressure] == 1008.83)
        }
        #expect(BTHome(advertisement("0916d2fc4202ca090164")) == nil)
    }

    @Test func `a value without room is refused with the range`() {
        let error = #expect(throws: BLEError.self) { try BTHome.Measurement(.temperature, 400) }
        #expect(error?.code == .invalidArgument && error?.cause.contains("327.67") == true)
        #expect(throws: BLEError.self) { try BTHome.Measurement(.battery, -1) }
        #expect(throws: BLEError.self) { try BTHome.Measurement(.temperature, .nan) }
        #expect(throws: BLEError.self) { try BTHome.Measurement(.init(rawValue: 0xEE), 1) }
    }

    @Test func `names are those of the format, each once`() {
        #expect(BTHome.Object(name: "temperature") == .temperature && BTHome.Object(name: "humour") == nil)
        #expect(Set(BTHome.Object.all.map(\.name)).count == BTHome.Object.all.count)
        #expect(BTHome.Object.temperature.unit == "°C" && BTHome.Object.temperature.step == 0.01)
    }
}
