import BLEDevices
import BLESimulator
import BLEStreams

/// A simulated sensor that sends a beat a second, sometimes loses its link, and is sometimes away for some seconds.
func liveAndSuffer(_ number: Int, on air: SimulatedAir) async throws {
    let measurement = BluetoothUUID.Characteristics.heartRateMeasurement
    let sensor = LocalPeripheral(name: "Sensor \(number)") {
        LocalService(.heartRate) { LocalCharacteristic(measurement, [.notify]) }
    }
    let adapter = air.adapter()
    air.faults.add(.loseLinks(every: .seconds(15)), on: adapter)
    while true {
        try await sensor.run(on: .radio(adapter)) { server in
            for beat in 0..<Int.random(in: 8...25) {
                try await Task.sleep(for: .seconds(1))
                try await server.notify([0, UInt8(60 + number + beat % 9)], of: measurement)
            }
        }
        try await Task.sleep(for: .seconds(Int.random(in: 1...6)))
    }
}
