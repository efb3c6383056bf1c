import BLEDevices
import BLESimulator
public import BLEStreams

/// Sensors without air: a thermometer, a heart-rate sensor and a counter.
public struct SimulatedSensors: Sendable {
    private let air = SimulatedAir()
    private let interval: Duration
    private let counters: Int

    /// Makes sensors that send a value each in this interval.
    ///
    /// They have the same addresses in each process, so several gateways simulate the same sensors.
    ///
    /// - Parameter counters: how many counters there are beside the three sensors, at most 65,535: they are called
    ///   `Counter 1` and so on, and have the addresses from `C1:00:00:00:00:01` on.
    public init(every interval: Duration, counters: Int = 0) {
        self.interval = interval
        self.counters = min(counters, 65_535)
    }

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
            group.addTask { try await counter("Counter", on: sensor(0x0003)) }
            for number in stride(from: 1, through: counters, by: 1) {
                var settings = AdapterSettings()
                settings.advertisingInterval = .seconds(1)
                let address = BluetoothAddress(rawValue: 0xC100_0000_0000 + UInt64(number), kind: .random)
                let adapter = air.adapter(address: address, settings: settings)
                group.addTask { try await counter("Counter \(number)", on: adapter) }
            }
            try await group.waitForAll()
        }
    }

    /// What the sensors themselves say, for whoever programs one: the gateway tells of the same in its own words.
    private static let silence: PeerStore.Warning = { _ in }

    private func sensor(_ number: UInt64) -> SimulatedAdapter {
        air.adapter(address: BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random))
    }

    private func thermometer() async throws {
        let sensor = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read, .notify], value: 20) }
        }
        try await sensor.run(on: .radio(self.sensor(0x0001)), warning: Self.silence) { server in
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
        try await sensor.run(on: .radio(self.sensor(0x0002)), warning: Self.silence) { server in
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
    private func counter(_ name: String, on adapter: SimulatedAdapter) async throws {
        let (service, number) = (BluetoothUUID(0xFFF0), BluetoothUUID(0xFFF1))
        let sensor = LocalPeripheral(name: name, advertising: [service]) {
            LocalService(service) { LocalCharacteristic(number, [.read, .notify, .write], value: .stored([])) }
        }
        try await sensor.run(on: .radio(adapter), warning: Self.silence) { server in
            var count: UInt32 = 0
            while true {
                try await Task.sleep(for: interval)
                count += 1
                try await server.notify(withUnsafeBytes(of: count.littleEndian) { Array($0) }, of: number)
            }
        }
    }
}
