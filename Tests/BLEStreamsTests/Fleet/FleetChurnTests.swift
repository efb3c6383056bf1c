import BLESimulator
import BLEStreams
import Testing

/// Members of a fleet that come and go in whatever state they are, with flows in their queues.
@Suite(.timeLimit(.minutes(10))) struct FleetChurnTests {
    /// Listens for ever, over lost links.
    private struct Listening: Command {
        func run(in context: CommandContext) async throws {
            try await context.resuming(.constant(.milliseconds(100))) {
                try await context.subscribe(to: Bench.counter)
                while true { _ = try await context.value() }
            }
        }
    }

    /// Adds a peripheral, removes it after a while, and so on.
    private static func churn(
        _ peer: BluetoothAddress,
        in fleet: Fleet,
        seed: UInt64,
        _ time: VirtualTime
    ) async throws {
        var chance = Chance(seed: seed)
        for _ in 0..<10 {
            var plan = Session.Plan(peer).subscribing(to: Bench.notifying)
            plan.reconnecting = .exponential(to: .seconds(10))
            let session = fleet.add(plan) { link in _ = try await link.read(Bench.long) }
            let flow = session.queue.enqueue(Listening())
            try await time.sleep(for: .milliseconds(chance.below(6_000)))
            let before = time.now
            if chance.below(3) == 0 { await session.disconnect() }
            if chance.below(3) == 0 { try? session.connect() }
            await fleet.remove(session)
            #expect(time.now - before < .seconds(20))
            #expect(await bleError { try await flow.value }?.code == .ended)
            #expect(!fleet.sessions.contains { $0 === session })
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `members that connect, back off and are in a flow leave soon, and leave nothing behind`(seed: UInt64)
        async throws
    {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let near = air.adapter()
            let heard = Recorder<BluetoothAddress?>()
            let devices = (0..<5).map { _ in air.adapter() }
            let central = try await Central.open(.radio(near))
            air.faults.add(.loseLinks(every: .seconds(9)))
            air.faults.add(.refuseConnections(20))
            try await withThrowingTaskGroup(of: Void.self) { lives in
                for device in devices {
                    lives.addTask {
                        try await Bench.description.run(on: .radio(device)) { server in
                            for number in 0... as PartialRangeFrom<UInt32> {
                                try await server.notify(number.octets, of: Bench.notifying)
                                try await time.sleep(for: .milliseconds(300))
                            }
                        }
                    }
                }
                try await central.withFleet { fleet in
                    lives.addTask { for try await value in fleet.values { heard.add(value.peripheral?.address) } }
                    lives.addTask { for try await _ in fleet.transitions {} }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for (index, device) in devices.enumerated() {
                            let seed = seed * 100 + UInt64(index)
                            group.addTask { try await Self.churn(device.address, in: fleet, seed: seed, time) }
                        }
                        try await group.waitForAll()
                    }
                    #expect(fleet.sessions.isEmpty && near.activity.links.isEmpty)
                }
                #expect(Set(heard.all) == Set(devices.map(\.address)))
                #expect(near.activity.isIdle)
                lives.cancelAll()
            }
        }
    }
}
