import BLEDevices
import BLESimulator
import Glibc
import Synchronization

/// A room with a heater. Its link is lost the second time the heater is switched, before the answer has left. The
/// simulation is over when the heater has been switched four times.
func room(_ stage: Stage) async throws {
    let heater = Heater()
    let room = LocalPeripheral(name: "Room") {
        LocalService(.environmentalSensing) {
            LocalCharacteristic(.temperature, [.read, .notify], value: 19)
            LocalCharacteristic(.heater, [.write], value: .dynamic) { value, central in
                switch heater.isSwitched(on: value == [1]) {
                case 2?: central.disconnect()
                case 4?: stage.hasShownAll()
                default: break
                }
            }
        }
    }
    try await room.run(on: stage.radio()) { server in
        while true {
            try await Task.sleep(for: .milliseconds(50))
            try await server.notify(heater.step(), of: .temperature)
        }
    }
}

/// A heater, and the room that it heats.
private final class Heater: Sendable {
    private let state = Mutex((isOn: false, switches: 0, celsius: 19.0))

    /// - Returns: how often it has been switched; `nil`: it was so already.
    func isSwitched(on isOn: Bool) -> Int? {
        state.withLock { state in
            guard state.isOn != isOn else { return nil }
            state.isOn = isOn
            state.switches += 1
            return state.switches
        }
    }

    /// - Returns: the temperature a moment later.
    func step() -> Double {
        state.withLock { state in
            state.celsius += state.isOn ? 0.2 : -0.1
            return state.celsius
        }
    }
}

/// A heart-rate sensor that drops its second link after a few beats.
func heart(_ stage: Stage) async throws {
    let sensor = LocalPeripheral(name: "Heart rate") {
        LocalService(.heartRate) {
            LocalCharacteristic(BluetoothUUID.Characteristics.heartRateMeasurement, [.notify])
        }
    }
    try await sensor.run(on: stage.radio()) { server in
        var links = 0
        for try await event in server.centralEvents {
            guard case .connected(let central) = event else { continue }
            links += 1
            for beat in 0... {
                try await Task.sleep(for: .milliseconds(50))
                guard server.centrals.contains(central) else { break }
                let outcome = try await server.notify(
                    [0, UInt8(60 + beat % 10)],
                    of: BluetoothUUID.Characteristics.heartRateMeasurement
                )
                if links == 2, beat > 5, !outcome.isEmpty { central.disconnect() }
            }
        }
    }
}

/// A central that receives three values from a thermometer, and then sends this process SIGTERM.
func visitor(_ stage: Stage) async throws {
    let central = try await Central.open(stage.radio())
    let server = try await central.scan(for: .service(.environmentalSensing)).timeout(.seconds(10)).first()
    let values = server.peripheral.stream { $0.notifications(of: .temperature) }
    var count = 0
    for try await celsius in values {
        print("  the visitor has received \(celsius) °C")
        count += 1
        if count == 3 { kill(getpid(), SIGTERM) }
    }
}
