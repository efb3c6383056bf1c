import BLEDevices
import BLEStreams
import Testing

@Suite struct FitnessMachineTests {
    @Test func `what a trainer says of itself is read`() throws {
        // As a trainer by Zwift says it.
        let features = FitnessMachineFeatures(
            measures: [.averageSpeed, .cadence, .totalDistance, .resistance, .heartRate, .power],
            settings: [.resistance, .power, .simulation, .wheelCircumference, .spinDown]
        )
        try expectBothWays("87440000 0CE00000", .fitnessMachineFeatures, features)
        #expect(features.measures.description.hasPrefix("average speed, cadence, total distance, resistance"))
        #expect(features.settings.description == "resistance, power, simulation, wheel circumference, spin-down")
        #expect(FitnessMachineFeatures.Measures(rawValue: 1 << 30).description == "bit 30")
        #expect(FitnessMachineFeatures.Settings().description.isEmpty)
    }

    @Test func `ranges are in the units of the settings`() throws {
        try expectBothWays(
            "6400 D007 0A00",
            .supportedSpeeds,
            SupportedRange(minimum: 1, maximum: 20, increment: 0.1)
        )
        try expectBothWays(
            "CEFF 9600 0500",
            .supportedInclinations,
            SupportedRange(minimum: -5, maximum: 15, increment: 0.5)
        )
        try expectBothWays(
            "0000 E803 0100",
            .supportedResistances,
            SupportedRange(minimum: 0, maximum: 100, increment: 0.1)
        )
        try expectBothWays(
            "3C B4 01",
            .supportedHeartRates,
            SupportedRange(minimum: 60, maximum: 180, increment: 1)
        )
        let powers = SupportedRange(minimum: 0, maximum: 2000, increment: 1)
        try expectBothWays("0000 D007 0100", .supportedPowers, powers)
        #expect(throws: BLEError.self) {
            try TypedCharacteristic.supportedHeartRates.octets(
                of: SupportedRange(minimum: 60, maximum: 300, increment: 1)
            )
        }
    }

    @Test(arguments: [
        ("01", FitnessMachineStatus.reset), ("0201", .stopped), ("0202", .paused), ("03", .stoppedBySafetyKey),
        ("04", .started), ("FF", .controlLost), ("05E803", .changed(.setSpeed(10))),
        ("06F1FF", .changed(.setInclination(-1.5))), ("0719", .changed(.setResistance(2.5))),
        ("08B400", .changed(.setPower(180))), ("0978", .changed(.setHeartRate(120))),
        ("0D102700", .changed(.setDistance(10_000))), ("0E5802", .changed(.setDuration(600))),
        ("12E80338FF2833", .changed(.simulate(wind: 1, slope: -2, rolling: 0.004, windResistance: 0.51))),
    ])
    func `what happens to a machine is told as the command that does it`(
        hex: String,
        status: FitnessMachineStatus
    ) throws {
        try expectBothWays(hex, .fitnessMachineStatus, status)
    }

    @Test func `settings without a command of their own keep their parameters`() throws {
        try expectBothWays("0A6400", .fitnessMachineStatus, .changed(.other(0x09, [0x64, 0])), shortest: 1)
        try expectBothWays("13D200", .fitnessMachineStatus, .changed(.other(0x12, [0xD2, 0])), shortest: 1)
        try expectBothWays("155A00", .fitnessMachineStatus, .changed(.other(0x14, [0x5A, 0])), shortest: 1)
        try expectBothWays("1401", .fitnessMachineStatus, .other(0x14, [1]), shortest: 1)
        let key = TypedCharacteristic.fitnessMachineStatus
        #expect(throws: BLEError.self) { try key.octets(of: .changed(.start)) }
        #expect(throws: BLEError.self) { try key.octets(of: .changed(.requestControl)) }
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        #expect(throws: BLEError.self) { try key.value(of: CharacteristicValue(bytes: [2, 3], time: time)) }
    }

    @Test func `a training's part has a name, and the machine's words`() throws {
        try expectBothWays("00 0D", .trainingStatus, TrainingStatus(part: .manual))
        let sprint = TrainingStatus(part: .highIntensity, text: "Sprint")
        try expectBothWays("01 04 537072696E74", .trainingStatus, sprint, shortest: 2)
        let warmUp = TrainingStatus(part: .warmingUp, text: "A", isTextCut: true)
        try expectBothWays("03 02 41", .trainingStatus, warmUp, shortest: 2)
        #expect(TrainingStatus.Part.coolingDown.description == "cooling down")
        #expect(TrainingStatus.Part(rawValue: 0x42).description == "66")
    }

    @Test(arguments: [
        ("41C3", "A"), ("41E282", "A"), ("41F09F98", "A"), ("41E2", "A"), ("C3", ""), ("41C3A4", "A\u{E4}"),
        ("F09F9880", "\u{1F600}"), ("4100C3", "A"),
    ])
    func `text that is cut within a character has the whole ones before it`(hex: String, text: String) throws {
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        func status(_ hex: String) throws -> TrainingStatus {
            try TypedCharacteristic.trainingStatus.value(of: CharacteristicValue(bytes: octets(hex)[...], time: time))
        }
        let cut = TrainingStatus(part: .warmingUp, text: text, isTextCut: true)
        #expect(try status("03 02" + hex) == cut)
        let name = try TypedCharacteristic.navigationControlPoint.value(
            of: CharacteristicValue(bytes: octets("20 05 01" + hex)[...], time: time)
        )
        #expect(name == .response(to: 5, .success, .routeName(text)))
        // Text that is whole, and text that is no UTF-8 before its end, is malformed as it was.
        #expect(throws: BLEError.self) { try status("01 02 41C3") }
        for hex in ["FF41", "41FF", "8080", "41C341", "41A4A4A4A4"] {
            #expect(throws: BLEError.self) { try status("03 02" + hex) }
        }
    }

    @Test func `what sensors of bicycles and runners measure, and where they are`() throws {
        try expectBothWays("0300", .cyclingFeatures, [.wheel, .crank])
        try expectBothWays("1F00", .runningFeatures, RunningFeatures(rawValue: 31))
        #expect(RunningFeatures([.strideLength, .calibration]).description == "stride length, calibration")
        #expect(CyclingFeatures([.wheel, .locations]).description == "wheel, locations")
        try expectBothWays("0C", .sensorLocation, .rearWheel)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        #expect(throws: BLEError.self) {
            try TypedCharacteristic.sensorLocation.value(of: CharacteristicValue(bytes: [17], time: time))
        }
    }

    @Test func `a battery tells how it is, and by what it is charged`() throws {
        var status = BatteryLevelStatus(wired: .connected, charging: .charging, level: .good, chargingKind: 1)
        try expectBothWays("00 A302", .batteryLevelStatus, status)
        (status.identifier, status.percent, status.service) = (0x0106, 87, 0b101)
        try expectBothWays("07 A302 0601 57 05", .batteryLevelStatus, status)
        status = BatteryLevelStatus(isPresent: false, wired: nil, wireless: .unknown, level: .critical, faults: 2)
        try expectBothWays("00 9621", .batteryLevelStatus, status)
        status.faults = 8
        #expect(throws: BLEError.self) { try TypedCharacteristic.batteryLevelStatus.octets(of: status) }
    }
}
