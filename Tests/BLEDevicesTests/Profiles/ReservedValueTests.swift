import BLEDevices
import BLEStreams
import Testing

/// What the specifications reserve for the future doesn't change what is known today.
@Suite struct ReservedValueTests {
    private func value<Value: Sendable>(_ hex: String, _ key: TypedCharacteristic<Value>) throws -> Value {
        try key.value(
            of: CharacteristicValue(
                bytes: octets(hex)[...],
                time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
            )
        )
    }

    /// The same value with reserved flags set, and with octets behind it that only a later version announces.
    private func expectIgnored<Value: Equatable & Sendable>(
        _ hex: String,
        _ reserved: String,
        _ key: TypedCharacteristic<Value>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let known = try value(hex, key)
        #expect(try value(reserved, key) == known, sourceLocation: sourceLocation)
        #expect(try value(reserved + "AABB", key) == known, sourceLocation: sourceLocation)
    }

    @Test func `reserved flags and what follows them are ignored`() throws {
        try expectIgnored("00 48", "E0 48", .heartRateMeasurement)
        try expectIgnored("00 6C0100FF", "F8 6C0100FF", .temperatureMeasurement)
        try expectIgnored("00 7800 5000 5D00", "E0 7800 5000 5D00", .bloodPressureMeasurement)
        try expectIgnored(
            "00 0700 E407 02 1D 06 00 00",
            "E0 0700 E407 02 1D 06 00 00",
            .glucoseMeasurement
        )
        try expectIgnored("00 6200 3D00", "E0 6200 3D00", .spotCheckMeasurement)
        try expectIgnored("00 6200 3D00", "E0 6200 3D00", .continuousOximeterMeasurement)
        try expectIgnored("00 1437", "F0 1437", .weightMeasurement)
        try expectIgnored("0000 D500", "00E0 D500", .bodyCompositionMeasurement)
        try expectIgnored("00", "FC", .cyclingMeasurement)
        try expectIgnored("0000 FA00", "00E0 FA00", .cyclingPowerMeasurement)
        try expectIgnored("00 8001 50", "F8 8001 50", .runningMeasurement)
        try expectIgnored("0100", "01E0", .indoorBikeData)
        try expectIgnored("0100", "01E0", .treadmillData)
        try expectIgnored("0100", "01C0", .rowerData)
        try expectIgnored("010000", "0100F0", .crossTrainerData)
        try expectIgnored("0100", "01FE", .stepClimberData)
        try expectIgnored("0000 0300 2C01", "00FE 0300 2C01", .stepClimberData)
        try expectIgnored("0100", "01FC", .stairClimberData)
        try expectIgnored("0000 0300", "00FC 0300", .stairClimberData)
        try expectIgnored("0000", "00C0", .locationAndSpeed)
        try expectIgnored("0000 2823 9F8C", "00FE 2823 9F8C", .navigation)
        try expectIgnored("8001", "80FF", .positionQuality)
        try expectIgnored("00", "C0", .cyclingPowerVector)
    }

    @Test func `a reserved choice is none, and the rest is read`() throws {
        let fever = try value("04 6C0100FF 00", .temperatureMeasurement)
        #expect(fever.site == nil && fever.celsius == 36.4)
        #expect(try value("04 6C0100FF 0A", .temperatureMeasurement).site == nil)
        #expect(try value("04 6C0100FF 02", .temperatureMeasurement).site == .body)
        #expect(try value("03 5900 0100 1302", .pnpID).registry == nil)
        let time = try value("EA07 0B 19 02 20 00 08 80 F0", .currentTime)
        #expect(time.dayOfWeek == 8 && time.dateTime.year == 2026 && time.adjustReason.rawValue == 0xF0)
        let date = try value("0000 00 00 02 20 00 00 00 00", .currentTime).dateTime
        #expect(!date.isDateKnown && date.hours == 2)
        let zone = try value("39 03", .localTimeInformation)
        #expect(zone.quarterHours == 57 && zone.daylightSavingQuarterHours == 3)
        let point = TypedCharacteristic.fitnessMachineControlPoint
        #expect(try value("7F 01", point) == .other(0x7F, [1]))
    }

    @Test func `an empty value is none`() {
        #expect(throws: BLEError.self) { try value("", .temperature) }
        #expect(throws: BLEError.self) { try value("", .humidity) }
        #expect(throws: BLEError.self) { try value("", .pressure) }
        #expect(throws: BLEError.self) { try value("", .pnpID) }
        #expect(throws: BLEError.self) { try value("", .systemID) }
        #expect(throws: BLEError.self) { try value("", .fitnessMachineControlPoint) }
    }
}
