import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    /// What a program does with two adapters as one; faults strike that which hears the peripheral best.
    static let ofJoined: [SweptOperation] = [
        joined("joined: connect and read", within: .seconds(160)) { world in
            try await world.peripheral.withLink { link in try await Array(link.read(Bench.readable)).description }
        },
        joined("joined: scan, then connect", within: .seconds(200)) { world in
            let found = try await world.central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(40)).first()
            return try await found.peripheral.withLink { try await Array($0.read(Bench.readable)).description }
        },
        joined("joined: pair", within: .seconds(200)) { world in
            try await world.peripheral.withLink { try await $0.pair() }
            return "\(world.peripheral.isBonded)"
        },
        joined("joined: a stream over links, retried", within: .seconds(500)) { world in
            let stream = world.peripheral.stream { $0.notifications(of: Bench.notifying) }
                .retry(.exponential(attempts: 5))
            return try await firstValues(of: stream, world, resumed: true)
        },
        joined("joined: a session", within: .seconds(500)) { world in
            let plan = Session.Plan(world.peripheral).subscribing(to: Bench.notifying)
            return try await world.central.withSession(plan) { session in
                let stream = session.notifications(of: Bench.notifying)
                return try await firstValues(of: stream, world, within: .seconds(300), resumed: true)
            }
        },
        joined("joined: a command of a session", within: .seconds(400)) { world in
            try await world.central.withSession(Session.Plan(world.peripheral)) { session in
                let queue = session.queue.timingOut(after: .seconds(300)).retrying()
                return try await Array(queue.run(.read(Bench.readable))).description
            }
        },
    ]

    private static func joined(
        _ name: String,
        within deadline: Duration,
        _ body: @escaping @Sendable (SweepWorld) async throws -> String
    ) -> SweptOperation {
        SweptOperation(name, within: deadline, site: SweepSite.joined, body)
    }
}
