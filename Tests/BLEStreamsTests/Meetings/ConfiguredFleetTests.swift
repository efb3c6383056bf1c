import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// A fleet whose members are configured, on an adapter that is unplugged meanwhile, in two lives of the program.
@Suite(.timeLimit(.minutes(10))) struct ConfiguredFleetTests {
    private static let count = 20

    /// Runs a body beside the devices, with their addresses and the adapter of the program.
    private static func run(
        seed: UInt64,
        _ body: @escaping @Sendable (VirtualTime, SimulatedAdapter, [BluetoothAddress]) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let (near, devices) = (air.adapter(), (0..<count).map { _ in air.adapter() })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in devices {
                    group.addTask {
                        try await RecordDevice.description.run(on: .radio(device)) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                }
                try await body(time, near, devices.map(\.address))
                group.cancelAll()
            }
            #expect(near.activity.isIdle)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `every device has all its settings when a program has been unplugged, has ended and goes on`(
        seed: UInt64
    ) async throws {
        try await Self.run(seed: seed) { time, near, addresses in
            let store = PeerStore.inMemory()
            let stay = Duration.milliseconds(100 * Int(seed))

            // The first life ends without its adapter.
            let first = try await Central.open(.radio(near), store: store)
            let cutOff = try await first.withFleet { fleet in
                for address in addresses {
                    var plan = Session.Plan(address)
                    plan.isKept = true
                    fleet.add(plan)
                }
                for session in fleet.sessions { try await session.ready() }
                let flows = fleet.sessions.map { $0.queue.enqueue(ConfigurationFlow(FlowTests.wishes)) }
                try await time.sleep(for: stay)
                near.unplug()
                try await time.sleep(for: .seconds(10))
                return flows
            }
            let failures = Recorder<BLEError>()
            for flow in cutOff {
                do { _ = try await flow.value } catch let error as BLEError { failures.add(error) }
            }
            #expect(!failures.all.isEmpty)
            #expect(failures.all.allSatisfy { !$0.operation.isEmpty && !$0.cause.isEmpty && !$0.remedy.isEmpty })

            // The second one is unplugged in the middle, too, and is plugged in again.
            near.plugIn()
            let second = try await Central.open(.radio(near), store: store)
            try await second.withFleet { fleet in
                let sessions = try fleet.restore()
                #expect(sessions.count == Self.count)
                let flows = sessions.map { session in
                    session.queue.retrying(.exponential(attempts: 8)).enqueue(ConfigurationFlow(FlowTests.wishes))
                }
                try await sessions.first?.ready()
                try await time.sleep(for: stay)
                near.unplug()
                try await time.sleep(for: .seconds(30))
                near.plugIn()
                for flow in flows { _ = try await flow.value }
                for session in sessions {
                    let values = try await FlowTests().values(session.queue)
                    #expect(values == [[1], [2], [3], [4]])
                }
            }
        }
    }
}
