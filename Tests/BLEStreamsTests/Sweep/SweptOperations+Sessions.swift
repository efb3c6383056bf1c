import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    /// The phases of a session, and sessions in a fleet.
    static let ofSessions: [SweptOperation] = [
        SweptOperation("a session that finds, connects and subscribes", within: .seconds(400)) { world in
            let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)
            return try await values(plan, world)
        },
        SweptOperation("a session with a known peripheral", within: .seconds(400)) { world in
            try await values(Session.Plan(world.peripheral).subscribing(to: Bench.notifying), world)
        },
        SweptOperation("a session that reconnects", within: .seconds(400)) { world in
            try await world.central.withSession(Session.Plan(world.peripheral)) { session in
                try await session.ready(timeout: .seconds(120))
                world.bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                _ = try? await session.read(Bench.readable, timeout: .seconds(60))
                try await session.ready(timeout: .seconds(120))
                return try await Array(session.read(Bench.readable, timeout: .seconds(60))).description
            }
        },
        SweptOperation("a session that doesn't reconnect", within: .seconds(400)) { world in
            var plan = Session.Plan(world.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = nil
            return try await values(plan, world)
        },
        SweptOperation("a command of a session", within: .seconds(400)) { world in
            try await world.central.withSession(Session.Plan(world.peripheral)) { session in
                let queue = session.queue.timingOut(after: .seconds(300)).retrying()
                return try await Array(queue.run(.read(Bench.readable))).description
            }
        },
        SweptOperation("a session beside a link", within: .seconds(400)) { world in
            try await world.central.withSession(Session.Plan(world.peripheral)) { session in
                async let ready: Void = session.ready(timeout: .seconds(300))
                let value = try? await world.peripheral.withLink { try await Array($0.read(Bench.readOnly)) }
                try await ready
                _ = value
                return try await Array(session.read(Bench.readable, timeout: .seconds(60))).description
            }
        },
        SweptOperation("a session that is disconnected, and connects again", within: .seconds(500)) { world in
            try await world.central.withSession(Session.Plan(world.peripheral)) { session in
                try await session.ready(timeout: .seconds(200))
                await session.disconnect()
                try session.connect()
                try await session.ready(timeout: .seconds(200))
                return "ready"
            }
        },
        SweptOperation("a session that is restored", within: .seconds(500)) { world in
            var plan = Session.Plan(world.peripheral).subscribing(to: Bench.notifying)
            plan.isKept = true
            try await world.central.withSession(plan) { try await $0.ready(timeout: .seconds(200)) }
            return try await world.central.withFleet { fleet in
                guard let session = try fleet.restore().first else {
                    // The disk has it, or a file that can't be written has nothing.
                    return world.has(.storeUnwritable) ? "ready" : "nothing was kept"
                }
                try await session.ready(timeout: .seconds(200))
                return "ready"
            }
        },
        SweptOperation("a fleet", within: .seconds(400)) { world in
            try await world.central.withFleet { fleet in
                fleet.add(Session.Plan(world.peripheral).subscribing(to: Bench.notifying))
                return try await firstValues(of: fleet.values.map(\.value), world, within: .seconds(300), resumed: true)
            }
        },
    ]

    private static func values(_ plan: Session.Plan, _ world: SweepWorld) async throws -> String {
        try await world.central.withSession(plan) { session in
            try await firstValues(
                of: session.notifications(of: Bench.notifying),
                world,
                within: .seconds(300),
                resumed: true
            )
        }
    }
}
