import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Commands and answers on air, and a command with the device that answers it.
@Suite(.timeLimit(.minutes(10))) struct ControlPointTests {
    @Test func `a power meter's commands are read and written`() throws {
        let key = TypedCharacteristic.cyclingPowerControlPoint
        try expectBothWays("01 E8030000", key, .setWheelRevolutions(1000))
        try expectBothWays("02 05", key, .setLocation(.leftCrank))
        try expectBothWays("03", key, .requestLocations)
        try expectBothWays("04 5901", key, .setCrankLength(172.5))
        try expectBothWays("05", key, .requestCrankLength)
        try expectBothWays("06 DC05", key, .setChainLength(1500))
        try expectBothWays("07", key, .requestChainLength)
        try expectBothWays("08 2C01", key, .setChainWeight(300))
        try expectBothWays("09", key, .requestChainWeight)
        try expectBothWays("0A 9A01", key, .setSpanLength(410))
        try expectBothWays("0B", key, .requestSpanLength)
        try expectBothWays("0C", key, .compensateOffset)
        try expectBothWays("0D 0401", key, .omit([.wheel, .energy]))
        try expectBothWays("0E", key, .requestSamplingRate)
        try expectBothWays("0F", key, .requestCalibrationDate)
        try expectBothWays("10", key, .compensateOffsetEnhanced)
        try expectBothWays("30 0102", key, .other(0x30, [1, 2]), shortest: 1)
        #expect(throws: BLEError.self) { try key.octets(of: .setCrankLength(40_000)) }
        #expect(throws: BLEError.self) { try key.octets(of: .setChainWeight(-1)) }
    }

    /// The crank's length is what an Assioma by Favero has answered; the crank by Stages has left out the outcome.
    @Test func `a power meter's answers have what was requested, or why it failed`() throws {
        let key = TypedCharacteristic.cyclingPowerControlPoint
        try expectBothWays("20 05 01 5901", key, .response(to: 5, .success, .crankLength(172.5)))
        let short = CyclingPowerControl.response(to: 5, ControlPointOutcome(rawValue: 0x59), .other([1]))
        try expectBothWays("20 05 59 01", key, short, shortest: 3)
        try expectBothWays("20 01 01", key, .response(to: 1, .success, nil))
        try expectBothWays("20 06 03", key, .response(to: 6, .invalidParameter, nil))
        let locations = CyclingPowerControl.Answer.locations([.leftCrank, .spider])
        try expectBothWays("20 03 01 050F", key, .response(to: 3, .success, locations), shortest: 3)
        try expectBothWays("20 07 01 DC05", key, .response(to: 7, .success, .chainLength(1500)))
        try expectBothWays("20 09 01 2C01", key, .response(to: 9, .success, .chainWeight(300)))
        try expectBothWays("20 0B 01 9A01", key, .response(to: 11, .success, .spanLength(410)))
        try expectBothWays("20 0C 01 F6FF", key, .response(to: 12, .success, .offset(-10)))
        try expectBothWays("20 0E 01 64", key, .response(to: 14, .success, .samplingRate(100)))
        let date = DateTime(year: 2016, month: 5, day: 3, hours: 12)
        try expectBothWays("20 0F 01 E007 05 03 0C 00 00", key, .response(to: 15, .success, .calibrationDate(date)))
        let enhanced = CyclingPowerControl.Answer.enhancedOffset(901, company: 442, data: [7, 8])
        try expectBothWays("20 10 01 8503 BA01 02 0708", key, .response(to: 16, .success, enhanced))
        try expectBothWays("20 10 04 01", key, .response(to: 16, .failed, .compensationFailure(1, [])))
        let maker = CyclingPowerControl.Answer.compensationFailure(255, [0xBA, 1, 1, 9])
        try expectBothWays("20 10 04 FF BA01 01 09", key, .response(to: 16, .failed, maker), shortest: 4)
        let wrong = CyclingPowerControl.response(to: 16, .failed, .compensationFailure(1, []))
        #expect(wrong.result(of: .compensateOffsetEnhanced) == .failure("failed: the crank is in the wrong position"))
        #expect(wrong.result(of: .compensateOffset) == nil)
    }

    @Test func `a sensor's commands and answers are read and written`() throws {
        let key = TypedCharacteristic.speedAndCadenceControlPoint
        try expectBothWays("01 E8030000", key, .setTotal(1000))
        try expectBothWays("02", key, .calibrate)
        try expectBothWays("03 0C", key, .setLocation(.rearWheel))
        try expectBothWays("04", key, .requestLocations)
        let wheels = SensorControl.response(to: 4, .success, locations: [.frontWheel, .rearWheel])
        try expectBothWays("10 04 01 040C", key, wheels, shortest: 3)
        try expectBothWays("10 02 04", key, .response(to: 2, .failed, locations: nil))
        try expectBothWays("11", key, .other(0x11, []))
        #expect(throws: BLEError.self) { try key.octets(of: .setTotal(-1)) }
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        #expect(throws: BLEError.self) { try key.value(of: CharacteristicValue(bytes: [3, 17], time: time)) }
        let both = try key.value(of: CharacteristicValue(bytes: [16, 4, 1, 4, 17], time: time))
        #expect(both == .response(to: 4, .success, locations: [.frontWheel]), "a reserved place is left out")
    }

    @Test func `a navigator's commands and answers are read and written`() throws {
        let key = TypedCharacteristic.navigationControlPoint
        try expectBothWays("01 ED0300", key, .setDistance(100.5))
        try expectBothWays("02 4100", key, .omit([.speed, .time]))
        try expectBothWays("03 05", key, .navigate(.startNearest))
        try expectBothWays("04", key, .requestRouteCount)
        try expectBothWays("05 0100", key, .requestRouteName(1))
        try expectBothWays("06 0100", key, .selectRoute(1))
        try expectBothWays("07 0A", key, .setFixInterval(10))
        try expectBothWays("08 83FFFF", key, .setElevation(-1.25))
        try expectBothWays("20 04 01 0300", key, .response(to: 4, .success, .routeCount(3)))
        try expectBothWays("20 05 01 486F6D65", key, .response(to: 5, .success, .routeName("Home")), shortest: 3)
        try expectBothWays("20 06 02", key, .response(to: 6, .notSupported, nil))
        try expectBothWays("20 06 01 AA", key, .response(to: 6, .success, .other([0xAA])), shortest: 3)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        #expect(throws: BLEError.self) { try key.value(of: CharacteristicValue(bytes: [3, 6], time: time)) }
    }

    @Test func `records are selected by number and by time`() throws {
        let key = TypedCharacteristic.recordAccessControlPoint
        try expectBothWays("01 01", key, .report(.all))
        try expectBothWays("01 03 01 0800", key, .report(.from(.number(8))))
        try expectBothWays("02 02 01 0600", key, .delete(.through(.number(6))))
        try expectBothWays("04 04 01 0100 0900", key, .requestCount(.between(.number(1), and: .number(9))))
        let time = DateTime(year: 2026, month: 11, day: 25, hours: 2)
        try expectBothWays("01 03 02 EA07 0B 19 02 00 00", key, .report(.from(.time(time))))
        try expectBothWays("01 05", key, .report(.first))
        try expectBothWays("02 06", key, .delete(.last))
        try expectBothWays("01 07 AA", key, .report(.other(7, [0xAA])), shortest: 2)
        try expectBothWays("03 00", key, .abort)
        try expectBothWays("05 00 C800", key, .count(200))
        try expectBothWays("06 00 01 06", key, .response(to: 1, .noRecords))
        #expect(RecordAccess.Outcome.operandNotSupported.description == "operand not supported")
        #expect(RecordAccess.Outcome(rawValue: 10).description == "10")
        #expect(throws: BLEError.self) { try key.octets(of: .report(.between(.number(1), and: .time(time)))) }
    }

    private static let meter = LocalPeripheral(name: "Meter") {
        LocalService(BluetoothUUID(0x1818)) {
            LocalCharacteristic(BluetoothUUID(0x2A66), [.write, .indicate], value: .dynamic)
        }
    }

    @Test func `a command waits for its own answer, and throws what the device says against it`() async throws {
        try await Bench.run(description: Self.meter) { server, _ in
            for try await write in server.writes(to: BluetoothUUID(0x2A66)) {
                write.accept()
                let number = write.value.first ?? 0
                // The first one answers somebody else's command.
                let answers = number == 5 ? [[0x20, 4, 1], [0x20, 5, 1, 0x59, 1]] : [[0x20, number, 3]]
                for answer in answers {
                    _ = try await server.indicate(answer, of: BluetoothUUID(0x2A66), to: write.central)
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let answer = try await link.perform(.requestCrankLength, on: .cyclingPowerControlPoint)
                #expect(answer == .response(to: 5, .success, .crankLength(172.5)))
                let error = await #expect(throws: BLEError.self) {
                    try await link.perform(.setCrankLength(400), on: .cyclingPowerControlPoint)
                }
                #expect(error?.code == .attributeError && error?.cause.contains("invalid parameter") == true)
            }
        }
    }
}
