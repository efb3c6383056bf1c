import BLEDevices
import BLESimulator
import Testing

@testable import Pulse

let measurement = BluetoothUUID.Characteristics.heartRateMeasurement

@Test func `rates go on after a lost link`() async throws {
    let sensor = LocalPeripheral(name: "Sensor") {
        LocalService(.heartRate) { LocalCharacteristic(measurement, [.notify]) }
    }
    try await VirtualTime.run { time in
        let air = SimulatedAir(time)
        air.faults.add(.dropLink(after: 3, .notifications))
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await sensor.run(on: air.adapter()) { server in
                    for rate in 60...255 {
                        try await time.sleep(for: .seconds(1))
                        try await server.notify([0, UInt8(rate)], of: measurement)
                    }
                }
            }
            let rates = try await heartRates(on: .radio(air.adapter())).collect(5)
            let links = air.trace.count { if case .connected = $0.event { true } else { false } }
            #expect(rates == rates.sorted() && links == 2)
            group.cancelAll()
        }
    }
}
