import BLEDevices
import BLEStreams
import Testing

@Suite struct FitnessProfileTests {
    @Test func `a cycling sensor's counters give speed and cadence, also where they wrap`() throws {
        let before = CyclingMeasurement(
            wheel: .init(count: 0xFFFF_FFFE, eventTime: 0xFE00),
            crank: .init(count: 0xFFFF, eventTime: 0xFC00)
        )
        try expectBothWays("03 FEFFFFFF 00FE FFFF 00FC", .cyclingMeasurement, before)
        let now = CyclingMeasurement(
            wheel: .init(count: 2, eventTime: 0x0200),
            crank: .init(count: 1, eventTime: 0x0400)
        )
        try expectBothWays("03 02000000 0002 0100 0004", .cyclingMeasurement, now)
        #expect(now.speed(since: before, circumference: 2) == 8)
        #expect(now.cadence(since: before) == 60)
        #expect(now.speed(since: now, circumference: 2) == nil)
        try expectBothWays("00", .cyclingMeasurement, CyclingMeasurement())
    }

    /// A sensor may count down (Cycling Speed and Cadence Service 1.0, 3.1.1.2).
    @Test func `a bicycle that is rolled backwards has a speed below zero`() {
        let before = CyclingMeasurement(
            wheel: .init(count: 100, eventTime: 0xFE00),
            crank: .init(count: 5, eventTime: 0x0400)
        )
        let back = CyclingMeasurement(
            wheel: .init(count: 99, eventTime: 0x0200),
            crank: .init(count: 3, eventTime: 0x0800)
        )
        #expect(back.speed(since: before, circumference: 2) == -2)
        #expect(back.cadence(since: before) == -120)
        // A power meter's wheel, whose time is finer.
        let wheel = CyclingMeasurement.Revolutions(count: 0, eventTime: 4096)
        let former = CyclingMeasurement.Revolutions(count: 3, eventTime: 0)
        #expect(wheel.rate(since: former, countBits: 32, stepsPerSecond: 2048) == -1.5)
    }

    @Test func `a power meter's value has all that its flags announce`() throws {
        var value = CyclingPowerMeasurement(power: -3)
        try expectBothWays("0000 FDFF", .cyclingPowerMeasurement, value)
        value = CyclingPowerMeasurement(power: 250)
        value.balance = 49.5
        value.isBalanceOfLeft = true
        value.torque = 12.5
        value.isTorqueOfCrank = true
        value.wheel = .init(count: 1000, eventTime: 2048)
        value.crank = .init(count: 300, eventTime: 1024)
        value.forces = .init(maximum: 400, minimum: -20)
        value.torques = .init(maximum: 640, minimum: -32)
        value.angles = .init(maximum: 95, minimum: 275)
        value.topDeadSpot = 2
        value.bottomDeadSpot = 181
        value.energy = 512
        value.isCompensating = true
        try expectBothWays(
            "FF1F FA00 63 9001 E8030000 0008 2C01 0004 9001 ECFF 8002 E0FF 5F3011 0200 B500 0002",
            .cyclingPowerMeasurement,
            value
        )
        value.angles = .init(maximum: 5000, minimum: 0)
        #expect(throws: BLEError.self) { try TypedCharacteristic.cyclingPowerMeasurement.octets(of: value) }
    }

    @Test func `a foot pod's value tells walking from running`() throws {
        try expectBothWays(
            "07 0003 5A 7800 E8030000",
            .runningMeasurement,
            RunningMeasurement(speed: 3, cadence: 90, strideLength: 1.2, distance: 100, isRunning: true)
        )
        try expectBothWays("00 8001 50", .runningMeasurement, RunningMeasurement(speed: 1.5, cadence: 80))
    }

    /// "More data" is the one flag of which a cleared bit announces a field.
    @Test func `an indoor bike's speed is there when more data is not announced`() throws {
        var bike = IndoorBikeData()
        bike.speed = 25
        bike.cadence = 85
        bike.distance = 0x012345
        bike.resistance = -4
        bike.power = 180
        bike.energy = ExpendedEnergy(total: 120, perHour: nil, perMinute: 9)
        bike.heartRate = 140
        bike.elapsed = 600
        try expectBothWays(
            "740B C409 AA00 452301 FCFF B400 7800 FFFF 09 8C 5802",
            .indoorBikeData,
            bike
        )
        try expectBothWays("0100", .indoorBikeData, IndoorBikeData())
    }

    @Test func `a treadmill's unknown slope is none`() throws {
        var treadmill = TreadmillData()
        treadmill.speed = 10.5
        treadmill.distance = 1500
        treadmill.inclination = -1.5
        treadmill.ascent = 12.5
        treadmill.descent = 0
        treadmill.pace = 0.2
        treadmill.metabolicEquivalent = 9.5
        treadmill.remaining = 60
        treadmill.power = 300
        try expectBothWays(
            "3C1A 1A04 DC0500 F1FF FF7F 7D00 0000 02 5F 3C00 FF7F 2C01",
            .treadmillData,
            treadmill
        )
    }

    @Test func `a rower's strokes are there when more data is not announced`() throws {
        var rower = RowerData()
        rower.strokeRate = 24.5
        rower.strokeCount = 300
        rower.distance = 2000
        rower.pace = 115
        rower.power = -5
        rower.resistance = 7
        rower.elapsed = 480
        try expectBothWays("AC08 31 2C01 D00700 7300 FBFF 0700 E001", .rowerData, rower)
        try expectBothWays("0100", .rowerData, RowerData())
    }

    @Test func `a cross trainer's record has three octets of flags, and says where it goes`() throws {
        var trainer = CrossTrainerData()
        trainer.speed = 8.25
        trainer.stepRate = 120
        trainer.averageStepRate = 118
        trainer.strideCount = 60.5
        trainer.ascent = 12
        trainer.descent = 3
        trainer.inclination = -1.5
        trainer.resistance = 2.5
        trainer.power = 150
        trainer.heartRate = 133
        trainer.isBackward = true
        try expectBothWays(
            "F88900 3903 7800 7600 5D02 0C00 0300 F1FF FF7F 1900 9600 85",
            .crossTrainerData,
            trainer
        )
        try expectBothWays("010000", .crossTrainerData, CrossTrainerData())
    }

    @Test func `a step climber's floors and steps are there when more data is not announced`() throws {
        var climber = StepClimberData()
        climber.floors = 12
        climber.stepCount = 300
        climber.stepRate = 95
        climber.averageStepRate = 90
        climber.ascent = 40
        climber.energy = ExpendedEnergy(total: 120, perHour: nil, perMinute: 9)
        climber.heartRate = 140
        climber.metabolicEquivalent = 9.5
        climber.elapsed = 600
        climber.remaining = 60
        try expectBothWays(
            "FE01 0C00 2C01 5F00 5A00 2800 7800 FFFF 09 8C 5F 5802 3C00",
            .stepClimberData,
            climber
        )
        try expectBothWays("0100", .stepClimberData, StepClimberData())
        climber.stepCount = 0x1_0000
        #expect(throws: BLEError.self) { try TypedCharacteristic.stepClimberData.octets(of: climber) }
    }

    @Test func `a stair climber counts floors and strides`() throws {
        var climber = StairClimberData()
        climber.floors = 12
        climber.stepRate = 95
        climber.averageStepRate = 90
        climber.ascent = 40
        climber.strideCount = 150
        climber.energy = ExpendedEnergy(total: nil, perHour: 700, perMinute: nil)
        climber.heartRate = 140
        climber.metabolicEquivalent = 9.5
        climber.elapsed = 600
        climber.remaining = 60
        try expectBothWays(
            "FE03 0C00 5F00 5A00 2800 9600 FFFF BC02 FF 8C 5F 5802 3C00",
            .stairClimberData,
            climber
        )
        try expectBothWays("0100", .stairClimberData, StairClimberData())
        climber.floors = -1
        #expect(throws: BLEError.self) { try TypedCharacteristic.stairClimberData.octets(of: climber) }
    }

    @Test func `a machine's commands and answers are read and written`() throws {
        let key = TypedCharacteristic.fitnessMachineControlPoint
        try expectBothWays("00", key, .requestControl)
        try expectBothWays("02 E803", key, .setSpeed(10))
        try expectBothWays("03 F1FF", key, .setInclination(-1.5))
        try expectBothWays("04 19", key, .setResistance(2.5))
        try expectBothWays("05 B400", key, .setPower(180))
        try expectBothWays("08 02", key, .pause)
        try expectBothWays("0C 102700", key, .setDistance(10_000))
        try expectBothWays(
            "11 E803 38FF 28 33",
            key,
            .simulate(wind: 1, slope: -2, rolling: 0.004, windResistance: 0.51)
        )
        try expectBothWays("80 05 01", key, .response(to: 5, .success))
        try expectBothWays("12 3412", key, .other(0x12, [0x34, 0x12]), shortest: 1)
        #expect(throws: BLEError.self) { try key.octets(of: .setPower(40_000)) }
        #expect(throws: BLEError.self) { try key.octets(of: .setResistance(26)) }
    }

    /// The person must know between which speeds to coast: 33 and 36 km/h.
    @Test func `the answer to a spin-down has its speeds`() throws {
        let key = TypedCharacteristic.fitnessMachineControlPoint
        let answer = FitnessMachineControl.other(0x80, [0x13, 1, 0xE4, 0x0C, 0x10, 0x0E])
        try expectBothWays("80 13 01 E40C 100E", key, answer, shortest: 3)
        #expect(answer.result(of: .other(0x13, [1])) == .success && answer.result(of: .start) == nil)
        try expectBothWays("80 13 04", key, .response(to: 0x13, .failed))
    }

    @Test func `a place on the earth keeps its seven decimals`() throws {
        var value = LocationAndSpeed(positionStatus: .measured)
        value.speed = 1.5
        value.distance = 100.5
        value.place = .init(latitude: -33.8568, longitude: 151.2153)
        value.elevation = -1.25
        value.heading = 359.99
        value.rollingTime = 9
        value.time = DateTime(year: 2026, month: 11, day: 25)
        try expectBothWays(
            "FF00 9600 ED0300 C0DCD1EB A89F215A 83FFFF 9F8C 09 EA07 0B 19 00 00 00",
            .locationAndSpeed,
            value
        )
        value.elevation = 90_000
        #expect(throws: BLEError.self) { try TypedCharacteristic.locationAndSpeed.octets(of: value) }
    }
}
