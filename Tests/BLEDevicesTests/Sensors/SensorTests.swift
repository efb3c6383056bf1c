import BLEDevices
import BLEStreams
import Testing

/// Payloads as makers document them, and as devices sent them.
@Suite struct SensorTests {
    private func manufacturer(_ company: UInt16, _ hex: String, name: String? = nil) throws -> AdvertisingData {
        let fields = [AdvertisingData.Field.manufacturerData(company, octets(hex))]
        return try AdvertisingData(fields + (name.map { [.localName($0)] } ?? []), limit: AdvertisingData.extendedLimit)
    }

    private func service(_ uuid: UInt16, _ hex: String) throws -> AdvertisingData {
        try AdvertisingData([.serviceData(BluetoothUUID(uuid), octets(hex))])
    }

    /// The valid data, the maximum, the minimum and the invalid values of the maker's own test vectors.
    @Test func `a RuuviTag's second format is read as its maker tests it`() throws {
        let tag = try #require(
            Ruuvi(try manufacturer(0x0499, "0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F"))
        )
        #expect(tag.temperature == 24.3 && tag.humidity == 53.49 && tag.pressure == 100_044)
        #expect(tag.acceleration == Ruuvi.Acceleration(x: 0.004, y: -0.004, z: 1.036))
        #expect(tag.txPower == 4 && tag.battery == 2.977 && tag.movements == 66 && tag.sequenceNumber == 205)
        #expect(tag.address?.description == "CB:B8:33:4C:88:4F")

        let most = try #require(
            Ruuvi(try manufacturer(0x0499, "057FFFFFFEFFFE7FFF7FFF7FFFFFDEFEFFFECBB8334C884F"))
        )
        #expect(most.temperature == 163.835 && most.humidity == 163.835 && most.pressure == 115_534)
        #expect(most.txPower == 20 && most.battery == 3.646 && most.sequenceNumber == 65534)

        let least = try #require(
            Ruuvi(try manufacturer(0x0499, "058001000000008001800180010000000000CBB8334C884F"))
        )
        #expect(least.temperature == -163.835 && least.humidity == 0 && least.pressure == 50_000)
        #expect(least.acceleration?.x == -32.767 && least.txPower == -40 && least.battery == 1.6)

        let failed = try #require(
            Ruuvi(try manufacturer(0x0499, "058000FFFFFFFF800080008000FFFFFFFFFFFFFFFFFFFFFF"))
        )
        #expect(failed.temperature == nil && failed.humidity == nil && failed.pressure == nil)
        #expect(failed.acceleration == nil && failed.battery == nil && failed.txPower == nil)
        #expect(failed.movements == nil && failed.sequenceNumber == nil && failed.address == nil)
    }

    @Test func `a RuuviTag's first format is read as its maker tests it`() throws {
        let tag = try #require(Ruuvi(try manufacturer(0x0499, "03291A1ECE1EFC18F94202CA0B53")))
        #expect(tag.humidity == 20.5 && tag.temperature == 26.3 && tag.pressure == 102_766 && tag.battery == 2.899)
        #expect(tag.acceleration == Ruuvi.Acceleration(x: -1, y: -1.726, z: 0.714))
        let cold = try #require(Ruuvi(try manufacturer(0x0499, "03FF7F63FFFF7FFF7FFF7FFFFFFF")))
        #expect(cold.temperature == 127.99)
        #expect(try #require(Ruuvi(try manufacturer(0x0499, "0300FF6300008001800180010000"))).temperature == -127.99)
    }

    @Test func `both forms of a thermometer with a free firmware are read`() throws {
        let first = try #require(ATCThermometer(try service(0x181A, "A4C138010203 00F0 2D 55 0B86 07")))
        #expect(first.temperature == 24 && first.humidity == 45 && first.batteryLevel == 85 && first.battery == 2.95)
        #expect(first.address.description == "A4:C1:38:01:02:03" && first.counter == 7)
        let second = try #require(ATCThermometer(try service(0x181A, "03020138C1A4 C7FD A411 860B 55 07 04")))
        #expect(second.temperature == -5.69 && second.humidity == 45.16 && second.battery == 2.95)
        #expect(second.address == first.address && second.counter == 7)
        #expect(ATCThermometer(try service(0x181A, "03020138C1A4 C7FD A411")) == nil)
    }

    @Test func `a Xiaomi frame tells one thing at a time, and an encrypted one none`() throws {
        let both = try #require(MiBeacon(try service(0xFE95, "5020AA01DA 219335342D58 0D1004 FE004802")))
        #expect(both.temperature == 25.4 && both.humidity == 58.4 && both.product == 0x01AA && both.counter == 0xDA)
        #expect(both.address?.description == "58:2D:34:35:93:21" && !both.isEncrypted)
        let soil = try #require(MiBeacon(try service(0xFE95, "7120 9800 62 CBA0916D8D7C 0D 091002 3400")))
        #expect(soil.conductivity == 52 && soil.temperature == nil)
        let encrypted = try #require(MiBeacon(try service(0xFE95, "5858 5B05 12 010203040506 AABBCCDDEEFF")))
        #expect(encrypted.isEncrypted && encrypted.temperature == nil)
        #expect(MiBeacon(try service(0xFE95, "50200000")) == nil)
    }

    @Test func `a SwitchBot's kind says what its octets are`() throws {
        let meter = try #require(SwitchBot(try service(0xFD3D, "54 00 E4 05 98 2D")))
        #expect(meter.kind == .meter && meter.temperature == 24.5 && meter.humidity == 45 && meter.batteryLevel == 100)
        #expect(try #require(SwitchBot(try service(0x0D00, "69 00 50 03 05 80"))).temperature == -5.3)
        #expect(try #require(SwitchBot(try service(0xFD3D, "48 90 64"))).isOn == true)
        #expect(try #require(SwitchBot(try service(0xFD3D, "48 D0 64"))).isOn == false)
        #expect(try #require(SwitchBot(try service(0xFD3D, "48 10 64"))).isOn == nil)
        #expect(SwitchBot(try service(0xFD3D, "54 00 E4 05")) == nil)
        #expect(SwitchBot(try service(0xFD3D, "FF 00 64")) == nil)
    }

    @Test func `a SwitchBot thermometer without values is not at the freezing point`() throws {
        #expect(SwitchBot(try service(0xFD3D, "54 00 00 00 00 00")) == nil)
        let frost = try #require(SwitchBot(try service(0xFD3D, "54 00 E4 00 80 00")))
        #expect(frost.temperature == 0 && frost.humidity == 0 && frost.batteryLevel == 100)
    }

    @Test func `a Govee thermometer packs both values into one number, or has each for itself`() throws {
        let packed = try #require(Govee(try manufacturer(0xEC88, "00 0341C2 64 00")))
        #expect(packed.temperature == 21.3 && packed.humidity == 44.2 && packed.batteryLevel == 100)
        let cold = try #require(Govee(try manufacturer(0xEC88, "00 8341C2 64 00")))
        #expect(cold.temperature == -21.3 && cold.humidity == 44.2)
        let separate = try #require(Govee(try manufacturer(0xEC88, "00 BCFE 8811 64 02")))
        #expect(separate.temperature == -3.24 && separate.humidity == 44.88)
        let other = try #require(Govee(try manufacturer(0x0001, "0101 0341C2 64", name: "GVH5177_1234")))
        #expect(other.temperature == 21.3)
        #expect(Govee(try manufacturer(0x0001, "0101 0341C2 64", name: "Phone")) == nil)
        #expect(Govee(try manufacturer(0xEC88, "00 0341C2 E4 00")) == nil)
    }

    /// 26.2 °C, 55.8 % and 9 µg/m³ in one number of four octets: 262,558,009.
    @Test func `a Govee air quality monitor is not read as a thermometer`() throws {
        #expect(Govee(try manufacturer(0x0001, "0101 0FA65139", name: "GVH5106_1234")) == nil)
        let thermometer = try #require(Govee(try manufacturer(0x0001, "0101 0341C2 64", name: "GVH5101_1234")))
        #expect(thermometer.temperature == 21.3)
    }

    /// Lengths are checked: no part of a payload traps.
    @Test func `no part of a payload traps`() throws {
        let payloads = [
            (0x0499, "0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F"), (0x0499, "03291A1ECE1EFC18F94202CA0B53"),
            (0xEC88, "000341C26400"),
        ]
        for (company, hex) in payloads {
            for count in 0...octets(hex).count {
                let part = octets(hex).prefix(count).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                let data = try manufacturer(UInt16(company), part)
                _ = (Ruuvi(data), Govee(data))
            }
        }
        for (uuid, hex) in [(0xFE95, "7120980062CBA0916D8D7C0D0910023400"), (0xFD3D, "5400E405982D")] {
            for count in 0...octets(hex).count {
                let part = octets(hex).prefix(count).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                let data = try service(UInt16(uuid), part)
                _ = (MiBeacon(data), SwitchBot(data), ATCThermometer(data))
            }
        }
    }
}
