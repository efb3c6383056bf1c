import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Sensors that two joined adapters hear, each sending its number four times a second.
struct JoinedSite: Sendable {
    static let number = BluetoothUUID(0xA003)
    static let fixed = BluetoothUUID(0xA001)

    let time: VirtualTime
    let air: SimulatedAir
    let adapters: [SimulatedAdapter]
    let sensors: [SimulatedAdapter]
    let central: Central

    var peripherals: [Peripheral] { sensors.map { central.peripheral($0.address) } }

    /// Runs a test body beside the sensors; afterwards no adapter does anything any more.
    static func run(
        sensors count: Int = 1,
        seed: UInt64 = 1,
        settings: AdapterSettings = AdapterSettings(),
        _ body: @escaping @Sendable (JoinedSite) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let adapters = [
                air.adapter(name: "near", settings: settings), air.adapter(name: "far", settings: settings),
            ]
            let sensors = (0..<count).map { _ in air.adapter() }
            for sensor in sensors {
                air.setSignal(.dBm(-50), between: adapters[0], and: sensor)
                air.setSignal(.dBm(-80), between: adapters[1], and: sensor)
            }
            let site = JoinedSite(
                time: time,
                air: air,
                adapters: adapters,
                sensors: sensors,
                central: try await Central.open(.joined(adapters.map { .radio($0) }))
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, adapter) in sensors.enumerated() {
                    group.addTask { try await live(on: adapter, UInt8(index), time) }
                }
                try await body(site)
                group.cancelAll()
            }
            for adapter in adapters { #expect(adapter.activity.isIdle) }
        }
    }

    private static func live(on adapter: SimulatedAdapter, _ index: UInt8, _ time: VirtualTime) async throws {
        let sensor = LocalPeripheral(name: "Sensor \(index)") {
            LocalService(BluetoothUUID(0xA000)) {
                LocalCharacteristic(fixed, [.read], value: .stored([index]))
                LocalCharacteristic(number, [.notify])
            }
        }
        try await sensor.run(on: .radio(adapter)) { server in
            var count: UInt8 = 0
            while true {
                try await server.notify([index, count], of: number)
                count &+= 1
                try await time.sleep(for: .milliseconds(250))
            }
        }
    }

    /// How many links each adapter has.
    var loads: [Int] { adapters.map(\.activity.links.count) }

    /// Lets both adapters hear a sensor as said.
    func move(_ sensor: Int, near: SignalStrength, far: SignalStrength) {
        air.setSignal(near, between: adapters[0], and: sensors[sensor])
        air.setSignal(far, between: adapters[1], and: sensors[sensor])
    }
}
