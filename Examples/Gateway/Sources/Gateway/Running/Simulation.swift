import BLEDevices
import BLESimulator
public import BLEStreams

/// Sensors without air: a thermometer, a heart-rate sensor and a counter.
public struct SimulatedSensors: Sendable {
    private let air = SimulatedAir()
    private let interval: Duration

    /// Makes sensors that send a value each in this interval.
    public init(every interval: Duration) { self.interval = interval }

    /// The gateway's adapter.
    public func radio() -> AdapterChoice { .radio(air.adapter()) }

    /// A configuration that follows all of them, for a broker on this machine.
    public static func configuration(spool folder: String) -> Configuration {
        var configuration = Configuration(spool: .init(folder: folder))
        configuration.prefix = "ble/simulated"
        configuration.advertisements = .init()
        configuration.homeAssistantPrefix = "homeassistant"
        configuration.peripherals = [
            .init(
                label: "thermometer",
                name: "Thermometer",
                subscriptions: [.init(characteristic: .Characteristics.temperature)]
            ),
            .init(
                label: "heart",
                name: "Heart",
                subscriptions: [.init(characteristic: .Characteristics.heartRateMeasurement)]
            ),
        ]
        configuration.permissions = [
            .init(peripheral: "thermometer", operations: ["read"], characteristics: [.Characteristics.temperature])
        ]
        return configuration
    }

    /// Runs the sensors until the task is cancelled.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await thermometer() }
            group.addTask { try await heart() }
            group.addTask { try await counter() }
            try await group.waitForAll()
        }
    }

    private func thermometer() async throws {
        let sensor = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read, .notify], value: 20) }
        }
        try await sensor.run(on: .radio(air.adapter())) { server in
            for step in 0... {
                try await Task.sleep(for: interval)
                try await server.notify(20 + Double(step % 20) / 10, of: .temperature)
            }
        }
    }

    private func heart() async throws {
        let sensor = LocalPeripheral(name: "Heart") {
            LocalService(.heartRate) {
                LocalCharacteristic(BluetoothUUID.Characteristics.heartRateMeasurement, [.notify])
            }
        }
        try await sensor.run(on: .radio(air.adapter())) { server in
            for beat in 0... {
                try await Task.sleep(for: interval)
                try await server.notify(
                    [0, UInt8(60 + beat % 9)],
                    of: BluetoothUUID.Characteristics.heartRateMeasurement
                )
            }
        }
    }

    /// Sends the numbers from 1, in four octets, the lowest first.
    private func counter() async throws {
        let (service, number) = (BluetoothUUID(0xFFF0), BluetoothUUID(0xFFF1))
        let sensor = LocalPeripheral(name: "Counter", advertising: [service]) {
            LocalService(service) { LocalCharacteristic(number, [.read, .notify, .write], value: .stored([])) }
        }
        try await sensor.run(on: .radio(air.adapter())) { server in
            var count: UInt32 = 0
            while true {
                try await Task.sleep(for: interval)
                count += 1
                try await server.notify(withUnsafeBytes(of: count.littleEndian) { Array($0) }, of: number)
            }
        }
    }
}
