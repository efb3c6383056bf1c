import BLEDevices
import BLEStreams
import Testing

@Suite struct HealthProfileTests {
    /// Of the specification's own example: 36.4 °C in the form of ISO/IEEE 11073, -1 as the exponent.
    @Test func `a thermometer's value has a number with its own power of ten, a time and a site`() throws {
        try expectBothWays(
            "06 6C0100FF E507 0C 1F 17 3B 38 02",
            .temperatureMeasurement,
            TemperatureMeasurement(
                MedicalNumber(mantissa: 364, exponent: -1),
                measuredAt: DateTime(year: 2021, month: 12, day: 31, hours: 23, minutes: 59, seconds: 56),
                site: .body
            )
        )
        let fever = TemperatureMeasurement(MedicalNumber(mantissa: 1004, exponent: -1), unit: .fahrenheit)
        try expectBothWays("01 EC0300FF", .intermediateTemperature, fever)
        #expect(abs(fever.celsius - 38) < 1e-9)
    }

    @Test(arguments: [
        ("07FF", MedicalNumber.Special.notANumber), ("0800", .notAtThisResolution), ("07FE", .positiveInfinity),
        ("0802", .negativeInfinity), ("0801", .reserved),
    ])
    func `the special values of both forms are told apart`(short: String, special: MedicalNumber.Special) throws {
        let bits = try #require(UInt16(short, radix: 16))
        let text = [UInt8(bits & 0xFF), UInt8(bits >> 8)]
        var measurement = octets("00 0000 0000 0000")
        measurement.replaceSubrange(1...2, with: text)
        let value = try TypedCharacteristic.bloodPressureMeasurement.value(
            of: CharacteristicValue(
                bytes: measurement[...],
                time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
            )
        )
        #expect(value.systolic == MedicalNumber(special) && value.diastolic.value == 0)
        #expect(try TypedCharacteristic.bloodPressureMeasurement.octets(of: value) == measurement)
    }

    @Test func `a medical number is the decimal that it was written as`() {
        #expect(MedicalNumber(mantissa: 366, exponent: -1).value == 36.6)
        #expect(MedicalNumber(mantissa: -5, exponent: 3).value == -5000)
        #expect(MedicalNumber(36.64, decimals: 1) == MedicalNumber(mantissa: 366, exponent: -1))
        #expect(MedicalNumber(.nan, decimals: 1) == MedicalNumber(.notANumber))
        #expect(MedicalNumber(-.infinity, decimals: 2) == MedicalNumber(.negativeInfinity))
        #expect(MedicalNumber(.notAtThisResolution).value.isNaN)
        #expect(MedicalNumber(mantissa: .min, exponent: .min).value == 0)
    }

    @Test func `a number that the form has no room for is refused, with the reason`() throws {
        var pressure = BloodPressureMeasurement(
            systolic: MedicalNumber(mantissa: 2045, exponent: 7),
            diastolic: MedicalNumber(mantissa: -2045, exponent: -8),
            meanArterial: MedicalNumber(mantissa: 0, exponent: 0)
        )
        #expect(try TypedCharacteristic.bloodPressureMeasurement.octets(of: pressure) == octets("00 FD77 0388 0000"))
        for number in [(2046, 0), (-2046, 0), (1, 8), (1, -9), (Int.min, 0)] {
            pressure.systolic = MedicalNumber(mantissa: number.0, exponent: number.1)
            let error = #expect(throws: BLEError.self) {
                try TypedCharacteristic.bloodPressureMeasurement.octets(of: pressure)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `a blood pressure has a pulse, a user and what disturbed it`() throws {
        try expectBothWays(
            "1E 7800 5000 5D00 E707 03 0F 0A 1E 00 4800 01 0500",
            .bloodPressureMeasurement,
            BloodPressureMeasurement(
                systolic: MedicalNumber(mantissa: 120, exponent: 0),
                diastolic: MedicalNumber(mantissa: 80, exponent: 0),
                meanArterial: MedicalNumber(mantissa: 93, exponent: 0),
                measuredAt: DateTime(year: 2023, month: 3, day: 15, hours: 10, minutes: 30),
                pulseRate: MedicalNumber(mantissa: 72, exponent: 0),
                user: 1,
                status: [.bodyMovement, .irregularPulse]
            )
        )
    }

    @Test func `a glucose record has its concentration in either unit, and its context`() throws {
        let value = GlucoseMeasurement(
            sequenceNumber: 7,
            baseTime: DateTime(year: 2020, month: 2, day: 29, hours: 6),
            timeOffset: -60,
            concentration: GlucoseMeasurement.Concentration(
                MedicalNumber(mantissa: 95, exponent: -5),
                .kilogramsPerLitre,
                sampleType: 1,
                sampleLocation: 1
            ),
            sensorStatus: 0x0001,
            hasContext: true
        )
        try expectBothWays("1B 0700 E407 02 1D 06 00 00 C4FF 5FB0 11 0100", .glucoseMeasurement, value)
        #expect(value.concentration.map { abs($0.milligramsPerDecilitre - 95) < 1e-9 } == true)
        // Overrun, and underrun.
        for (octets, minutes) in [("FF7F", 32_767), ("0080", -32_768)] {
            let date = DateTime(year: 2020, month: 2, day: 29, hours: 6)
            let beyond = GlucoseMeasurement(sequenceNumber: 7, baseTime: date, timeOffset: minutes)
            try expectBothWays("01 0700 E407 02 1D 06 00 00 " + octets, .glucoseMeasurement, beyond)
        }

        var context = GlucoseMeasurementContext(sequenceNumber: 7)
        context.carbohydrate = GlucoseMeasurementContext.Amount(
            kind: 1,
            value: MedicalNumber(mantissa: 45, exponent: -3)
        )
        context.meal = 2
        context.tester = 1
        context.health = 5
        context.exerciseDuration = 1800
        context.exerciseIntensity = 60
        context.medication = GlucoseMeasurementContext.Amount(
            kind: 1,
            value: MedicalNumber(mantissa: 5, exponent: -3),
            isVolume: true
        )
        context.hbA1c = MedicalNumber(mantissa: 65, exponent: -1)
        try expectBothWays("7F 0700 01 2DD0 02 51 0807 3C 01 05D0 41F0", .glucoseMeasurementContext, context)
    }

    @Test func `an oximeter's values come with the faster and the slower reading where it has them`() throws {
        let (saturation, pulse) = (MedicalNumber(mantissa: 98, exponent: 0), MedicalNumber(mantissa: 61, exponent: 0))
        try expectBothWays(
            "1F 6200 3D00 E507 01 02 03 04 05 2000 030000 19F0",
            .spotCheckMeasurement,
            SpotCheckMeasurement(
                saturation: saturation,
                pulseRate: pulse,
                measuredAt: DateTime(year: 2021, month: 1, day: 2, hours: 3, minutes: 4, seconds: 5),
                measurementStatus: 0x20,
                deviceStatus: 3,
                amplitudeIndex: MedicalNumber(mantissa: 25, exponent: -1),
                isClockUnset: true
            )
        )
        let reading = ContinuousOximeterMeasurement.Reading(saturation: saturation, pulseRate: pulse)
        try expectBothWays(
            "0F 6200 3D00 6200 3D00 6200 3D00 0100 020000",
            .continuousOximeterMeasurement,
            ContinuousOximeterMeasurement(
                normal: reading,
                fast: reading,
                slow: reading,
                measurementStatus: 1,
                deviceStatus: 2
            )
        )
    }

    @Test func `a scale counts kilograms in steps of 5 grams, or pounds`() throws {
        var weight = WeightMeasurement(
            70.5,
            measuredAt: DateTime(year: 2024, month: 12, day: 31, hours: 23, minutes: 59, seconds: 59),
            user: 1
        )
        weight.bodyMassIndex = 22.5
        weight.height = 1.77
        try expectBothWays("0E 1437 E807 0C 1F 17 3B 3B 01 E100 EA06", .weightMeasurement, weight)
        let pounds = WeightMeasurement(150, unit: .pounds)
        try expectBothWays("01 983A", .weightMeasurement, pounds)
        #expect(pounds.kilograms.map { abs($0 - 68.0388555) < 1e-9 } == true)
        try expectBothWays("00 FFFF", .weightMeasurement, WeightMeasurement(nil))
    }

    @Test func `a body's composition has masses in the unit of the scale`() throws {
        var value = BodyCompositionMeasurement(bodyFat: 21.3)
        value.user = 2
        value.basalMetabolism = 7000
        value.muscle = 41.5
        value.fatFreeMass = 55.5
        value.impedance = 500
        value.weight = 70.5
        value.height = 1.8
        try expectBothWays(
            "5C0E D500 02 581B 9F01 5C2B 8813 1437 0807",
            .bodyCompositionMeasurement,
            value
        )
        try expectBothWays(
            "0010 FFFF",
            .bodyCompositionMeasurement,
            {
                var value = BodyCompositionMeasurement(bodyFat: nil)
                value.isPartOfSeveral = true
                return value
            }()
        )
    }

    @Test func `a heart rate has one octet, or two, and what else its flags announce`() throws {
        func measurement(_ beats: Int, _ contact: Bool? = nil, _ energy: Int? = nil, _ steps: [Int] = [])
            -> HeartRateMeasurement
        {
            HeartRateMeasurement(
                beats,
                hasContact: contact,
                energyExpended: energy,
                intervals: steps.map { .seconds(1) * $0 / 1024 },
                time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
            )
        }
        let key = TypedCharacteristic.heartRateMeasurement
        try expectBothWays("00 48", key, measurement(72))
        try expectBothWays("00 FF", key, measurement(255))
        try expectBothWays("01 0001", key, measurement(256))
        try expectBothWays("04 48", key, measurement(72, false))
        try expectBothWays("06 48", key, measurement(72, true))
        try expectBothWays("08 48 3412", key, measurement(72, nil, 0x1234))
        // A beat without an interval is one, so a part of this is a value.
        try expectBothWays("10 48 0004", key, measurement(72, nil, nil, [1024]), shortest: 2)
        let whole = measurement(300, true, 10, [1024, 512])
        try expectBothWays("1F 2C01 0A00 0004 0002", key, whole, shortest: 5)
        #expect(throws: BLEError.self) { try key.octets(of: measurement(-1)) }
        #expect(throws: BLEError.self) { try key.octets(of: measurement(70_000)) }
        #expect(throws: BLEError.self) { try key.octets(of: measurement(72, nil, nil, [70_000])) }
    }

    @Test func `a heart-rate sensor's site is a name, and a reserved one is none`() throws {
        try expectBothWays("01", .bodySensorLocation, .chest)
        try expectBothWays("01", .heartRateControlPoint, .resetEnergyExpended)
        #expect(throws: BLEError.self) {
            try TypedCharacteristic.bodySensorLocation.value(
                of: CharacteristicValue(bytes: [7], time: ReceptionTime(sinceEpoch: .zero, source: .simulation))
            )
        }
    }
}
