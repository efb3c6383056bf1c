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
        let fault = air.faults.add(.dropLink(after: 3, .notifications))
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
            #expect(rates == rates.sorted() && air.faults.strikes(of: fault) == 1)
            group.cancelAll()
        }
    }
}
