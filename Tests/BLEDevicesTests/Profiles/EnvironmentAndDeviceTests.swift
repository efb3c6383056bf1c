import BLEDevices
import BLEStreams
import Testing

@Suite struct EnvironmentAndDeviceTests {
    @Test func `quantities of the environment are numbers in their unit`() throws {
        try expectBothWays("EA08", .temperature, 22.82)
        try expectBothWays("18FC", .temperature, -10)
        try expectBothWays("9411", .humidity, 45)
        try expectBothWays("CD760F00", .pressure, 101_345.3)
        try expectBothWays("FB", .dewPoint, -5)
        try expectBothWays("1E", .heatIndex, 30)
        try expectBothWays("F6", .windChill, -10)
        try expectBothWays("07", .uvIndex, 7)
        try expectBothWays("8403", .apparentWindSpeed, 9)
        try expectBothWays("2823", .apparentWindDirection, 90)
        try expectBothWays("8403", .trueWindSpeed, 9)
        try expectBothWays("9F8C", .trueWindDirection, 359.99)
        try expectBothWays("0C00", .rainfall, 0.012)
        try expectBothWays("E803", .irradiance, 100)
        try expectBothWays("A401", .carbonDioxide, 420)
        try expectBothWays("83FFFF", .elevation, -1.25)
    }

    @Test func `what a sensor does not know is not a number`() throws {
        func value(_ key: TypedCharacteristic<Double>, _ hex: String) throws -> Double {
            try key.value(
                of: CharacteristicValue(
                    bytes: octets(hex)[...],
                    time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
                )
            )
        }
        #expect(try value(.temperature, "0080").isNaN)
        #expect(try value(.humidity, "FFFF").isNaN)
        #expect(try TypedCharacteristic.temperature.octets(of: .nan) == octets("0080"))
        // A pressure has no such value.
        #expect(throws: BLEError.self) { try TypedCharacteristic.pressure.octets(of: .nan) }
    }

    @Test(arguments: [400.0, -400, .infinity, 1e300])
    func `a quantity that its octets have no room for is refused, with the range`(temperature: Double) throws {
        let error = #expect(throws: BLEError.self) { try TypedCharacteristic.temperature.octets(of: temperature) }
        #expect(error?.code == .invalidArgument && error?.cause.contains("-327.68 and 327.67") == true)
        #expect(throws: BLEError.self) { try TypedCharacteristic.elevation.octets(of: temperature * 1e6) }
    }

    @Test func `a device says who made it, in text without what fills the field`() throws {
        try expectBothWays("4E6F72646963", .manufacturerName, "Nordic", shortest: 0)
        let padded = CharacteristicValue(
            bytes: octets("312E32000000")[...],
            time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
        )
        #expect(try TypedCharacteristic.firmwareRevision.value(of: padded) == "1.2")
        let broken = CharacteristicValue(bytes: [0xC3], time: ReceptionTime(sinceEpoch: .zero, source: .simulation))
        #expect(throws: BLEError.self) { try TypedCharacteristic.serialNumber.value(of: broken) }
    }

    @Test func `a device says which product it is, by numbers`() throws {
        try expectBothWays(
            "01 5900 0100 1302",
            .pnpID,
            PnPID(registry: .bluetooth, vendor: 0x0059, product: 1, version: 0x0213)
        )
        #expect(throws: BLEError.self) {
            try TypedCharacteristic.pnpID.octets(of: PnPID(registry: nil, vendor: 1, product: 1, version: 1))
        }
        // The specification's example: 123456 as the organization, 9ABCDE with FFFE before it as the manufacturer's
        // part.
        try expectBothWays(
            "DEBC9AFEFF 563412",
            .systemID,
            SystemID(manufacturerIdentifier: 0xFF_FE9A_BCDE, organization: 0x123456)
        )
    }

    @Test func `a clock says what it shows, and how far it is from UTC`() throws {
        try expectBothWays(
            "EA07 0B 19 02 20 00 03 80 05",
            .currentTime,
            CurrentTime(
                DateTime(year: 2026, month: 11, day: 25, hours: 2, minutes: 32),
                dayOfWeek: 3,
                fractions: 128,
                adjustReason: [.manual, .timeZone]
            )
        )
        let india = LocalTimeInformation(quarterHours: 22, daylightSavingQuarterHours: 0)
        try expectBothWays("16 00", .localTimeInformation, india)
        #expect(india.offset == .seconds(19_800))
        let unknown = LocalTimeInformation(quarterHours: nil, daylightSavingQuarterHours: nil)
        try expectBothWays("80 FF", .localTimeInformation, unknown)
        #expect(unknown.offset == nil)
    }

    @Test func `a date without a zone compares and prints as one`() {
        let date = DateTime(year: 2026, month: 1, day: 2, hours: 3, minutes: 4, seconds: 5)
        #expect("\(date)" == "2026-01-02T03:04:05" && date < DateTime(year: 2026, month: 2, day: 1))
        #expect(!DateTime(year: 0, month: 1, day: 1).isDateKnown)
    }
}
