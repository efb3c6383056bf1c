import BLESimulator
import BLEStreams
import Testing

/// Sensors on one air, and a central that hears them all.
struct FleetSite: Sendable {
    let time: VirtualTime
    let air: SimulatedAir
    let near: SimulatedAdapter
    let sensors: [SimulatedAdapter]
    let central: Central

    /// - Parameters:
    ///   - count: the number of sensors.
    ///   - settings: of the central's adapter and of each sensor's.
    ///   - live: what each sensor does, by its index.
    static func run(
        _ count: Int,
        settings: (near: AdapterSettings, sensor: AdapterSettings) = (AdapterSettings(), AdapterSettings()),
        seed: UInt64,
        live: @escaping @Sendable (SimulatedAdapter, UInt32, VirtualTime) async throws -> Void,
        _ body: @escaping @Sendable (FleetSite) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let near = air.adapter(settings: settings.near)
            let sensors = (0..<count).map { _ in air.adapter(settings: settings.sensor) }
            let central = try await Central.open(.radio(near))
            let site = FleetSite(time: time, air: air, near: near, sensors: sensors, central: central)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, sensor) in sensors.enumerated() {
                    group.addTask { try await live(sensor, UInt32(index), time) }
                }
                try await body(site)
                group.cancelAll()
            }
            #expect(near.activity.isIdle)
        }
    }
}
