import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import CBenchmarks
import Synchronization

/// Whether a gateway's process grows: sessions with 50 sensors for a day of virtual time, each of which sends a value a
/// minute and loses its link every two hours on average.
///
/// `Simulation soak` does the same for a year, with adapters that are unplugged.
extension Memory {
    private static let hours = 24
    /// In the first hours tables and buffers find their sizes.
    private static let warmUp = 8
    private static let valuesADay = links * hours * 60

    /// Octets in use on the heap after the day, beyond the most after one of the first hours, both sides together.
    @concurrent
    static func growthInADay() async throws -> Double {
        try await VirtualTime.run(seed: 17, limit: .seconds((hours + 1) * 3600), patience: .seconds(600)) { time in
            let air = SimulatedAir(time)
            air.faults.add(.loseLinks(every: .seconds(7200)))
            let slow = LinkTiming(connectionInterval: .milliseconds(500), supervisionTimeout: .seconds(6))
            let settings = AdapterSettings(advertisingInterval: .seconds(1), linkTiming: slow)
            let sensors = (0..<links).map { _ in air.adapter(settings: settings) }
            let central = try await Central.open(.radio(air.adapter()))
            let received = Received()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                for sensor in sensors { group.addTask { try await sense(on: sensor, time) } }
                group.addTask {
                    try await central.withFleet { fleet in
                        for sensor in sensors {
                            fleet.add(Session.Plan(sensor.address).subscribing(to: Instructions.heartbeat))
                        }
                        for try await _ in fleet.values { received.count.add(1, ordering: .relaxed) }
                    }
                }
                var most: UInt64 = 0
                var last: UInt64 = 0
                for hour in 1...hours {
                    try await time.sleep(for: .seconds(3600))
                    last = CBenchmarks_allocatedOctets()
                    if hour <= warmUp { most = max(most, last) }
                }
                group.cancelAll()
                // What is sent while a link is lost doesn't come.
                let count = received.count.load(ordering: .relaxed)
                guard count > valuesADay * 9 / 10, count <= valuesADay else { throw TooFew(count: count) }
                return Double(last) - Double(most)
            }
        }
    }

    private final class Received: Sendable {
        let count = Atomic(0)
    }

    private struct TooFew: Error {
        let count: Int
    }

    private static func sense(on adapter: SimulatedAdapter, _ time: VirtualTime) async throws {
        let sensor = LocalPeripheral(name: "Sensor") {
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(Instructions.heartbeat, [.notify]) }
        }
        let silently: PeerStore.Warning = { _ in }
        try await sensor.run(on: adapter, warning: silently) { server in
            while true {
                try await time.sleep(for: .seconds(60))
                try await server.notify(Instructions.octets, of: Instructions.heartbeat)
            }
        }
    }
}
