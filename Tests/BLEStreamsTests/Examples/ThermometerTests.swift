import BLESimulator
import BLEStreams
import Testing

/// The test that the guide to testing shows.
@Suite(.timeLimit(.minutes(10))) struct ThermometerTests {
    @Test func `a thermometer is followed through a lost link`() async throws {
        let temperature = BluetoothUUID.Characteristics.temperature
        let thermometer = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(temperature, [.read, .notify])
            }
        }
        try await VirtualTime.run(seed: 7) { time in
            let air = SimulatedAir(time)
            air.faults.add(.dropLink(after: 10, .notifications))
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await thermometer.run(on: air.adapter()) { server in
                        for minute in 0... {
                            try await server.notify([UInt8(minute % 60), 0], of: temperature)
                            try await time.sleep(for: .seconds(60))
                        }
                    }
                }
                group.addTask {
                    let central = try await Central.open(.radio(air.adapter()))
                    let found = try await central.scan(for: .service(.environmentalSensing)).first()
                    let values = found.peripheral.stream { $0.notifications(of: temperature) }.retry()
                    let minutes = try await values.collect(20).map { $0[0] }
                    #expect(minutes.last == 20 && time.now > .seconds(1200))
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}
