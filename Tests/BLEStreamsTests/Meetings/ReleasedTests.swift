import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// What is over is released while the central goes on: a program keeps that for months.
@Suite(.timeLimit(.minutes(10))) struct ReleasedTests {
    /// Objects that are to be released.
    private final class Watched: Sendable {
        private struct Held: Sendable {
            let name: String
            weak let object: (any AnyObject & Sendable)?
        }

        private let held = Mutex<[Held]>([])

        func add(_ objects: [(String, any AnyObject & Sendable)]) {
            let new = objects.map { Held(name: $0.0, object: $0.1) }
            held.withLock { $0 += new }
        }

        /// How many there were.
        var count: Int { held.withLock { $0.count } }

        /// Those that are still there.
        var names: [String] { held.withLock { $0.filter { $0.object != nil }.map(\.name) } }
    }

    @Test(arguments: [false, true])
    func `a link is, and what drives it, also where it was lost`(isLost: Bool) async throws {
        let watched = Watched()
        try await Bench.run(serve: Bench.sendForEver) { bench in
            for _ in 0..<3 {
                try? await bench.peripheral.withLink { link in
                    watched.add([
                        ("the link", link), ("its bearer", link.bearer), ("its raiser", link.raiser),
                        ("its conditions", link.conditionWatch), ("its services", link.watchers),
                    ])
                    _ = try await link.read(Bench.readable)
                    _ = try await link.notifications(of: Bench.notifying).prefix(2).collect()
                    _ = try await link.values(of: Bench.notifying).prefix(2).collect()
                    _ = try await link.conditionChanges.first()
                    guard isLost else { return }
                    bench.centralAdapter.powerOff()
                    _ = try await link.read(Bench.readable)
                }
                if isLost { bench.centralAdapter.powerOn() }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(watched.count == 15)
            #expect(watched.names == [])
        }
    }

    @Test func `a session is, with its queue and its link`() async throws {
        let watched = Watched()
        try await Bench.run(serve: Bench.sendForEver) { bench in
            for _ in 0..<3 {
                let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                try await bench.central.withSession(plan) { session in
                    watched.add([
                        ("the session", session), ("its channels", session.channels), ("its states", session.board),
                        ("its queue", session.queueCore),
                    ])
                    try await session.ready()
                    if let link = session.link { watched.add([("its link", link)]) }
                    _ = try await session.notifications(of: Bench.notifying).prefix(2).collect()
                    _ = try await session.values(of: Bench.notifying).prefix(2).collect()
                    _ = try await session.queue.run(.read(Bench.readable))
                    _ = try await session.queue.enqueue(.read(Bench.readable)).value
                    await session.disconnect()
                }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(watched.count == 15)
            #expect(watched.names == [])
        }
    }

    @Test func `a session is, also if its first steps keep it`() async throws {
        let watched = Watched()
        try await Bench.run { bench in
            for _ in 0..<3 {
                let kept = Recorder<Session>()
                let steps: @Sendable (Link) async throws -> Void = { _ in #expect(kept.all.count == 1) }
                try await bench.central.withSession(Session.Plan(bench.peripheral), initialise: steps) { session in
                    kept.add(session)
                    watched.add([("the session", session)])
                    try await session.ready()
                }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(watched.count == 3)
            #expect(watched.names == [])
        }
    }

    /// Adds a session to a fleet, and removes it when it has had some values.
    private static func visit(_ fleet: Fleet, _ bench: Bench, _ watched: Watched) async throws {
        let session = fleet.add(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
        watched.add([("the session", session), ("its channels", session.channels)])
        try await session.ready()
        try await bench.time.sleep(for: .seconds(5))
        await fleet.remove(session)
    }

    @Test func `a fleet is, and each session that has left it, though its values are still being read`() async throws {
        let (fleets, sessions) = (Watched(), Watched())
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withFleet { fleet in
                fleets.add([("the fleet", fleet)])
                async let count = fleet.values.map { _ in 1 }.take(until: bench.time.after(.seconds(300))).collect()
                for _ in 0..<3 { try await Self.visit(fleet, bench, sessions) }
                try await bench.time.sleep(for: .seconds(60))
                #expect(sessions.count == 6)
                #expect(sessions.names == [])
                let values = try await count.count
                #expect(values >= 9)
            }
            try await bench.time.sleep(for: .seconds(60))
            #expect(fleets.names == [])
        }
    }

    @Test func `a server is, and each central that has left it`() async throws {
        let (servers, centrals) = (Watched(), Watched())
        try await Bench.run { bench in
            let adapter = bench.air.adapter()
            for _ in 0..<2 {
                try await Bench.description.run(on: .radio(adapter)) { server in
                    servers.add([("the server", server)])
                    for _ in 0..<3 {
                        try await bench.central.peripheral(adapter.address).withLink { link in
                            _ = try await link.read(Bench.readable)
                            for central in server.centrals {
                                centrals.add([("a central", central), ("its bearer", central.bearer)])
                            }
                        }
                        try await bench.time.sleep(for: .seconds(60))
                    }
                    #expect(centrals.names == [])
                }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(centrals.count == 12)
            #expect(servers.count == 2 && servers.names == [])
        }
    }

    /// What a peripheral is given that keeps its server.
    private enum Keeper: CaseIterable { case value, laterValue, pairing, warning }

    @Test(arguments: Keeper.allCases)
    private func `a server is, also if the closures that it is given keep it`(keeper: Keeper) async throws {
        let watched = Watched()
        try await Bench.run { bench in
            let adapter = bench.air.adapter()
            for _ in 0..<2 {
                let kept = Recorder<PeripheralServer>()
                let services = [
                    LocalService(BluetoothUUID(0xD000)) {
                        LocalCharacteristic(
                            Bench.readable,
                            [.read],
                            read: { _ in kept.all.map { UInt8($0.centrals.count) } }
                        )
                    }
                ]
                var described = LocalPeripheral(name: "Keeping") {}
                if keeper != .laterValue { described.services = services }
                if keeper == .pairing {
                    described.services = Bench.description.services
                    described.pairing = PairingAnswers(passkey: { kept.all.isEmpty ? nil : 123_456 })
                }
                var warning: PeerStore.Warning = { _ in }
                if keeper == .warning { warning = { _ in #expect(kept.all.count == 1) } }
                try await described.run(on: .radio(adapter), warning: warning) { server in
                    kept.add(server)
                    watched.add([("the server", server)])
                    if keeper == .laterValue { try server.replaceServices(services) }
                    try await bench.central.peripheral(adapter.address).withLink { link in
                        try await link.expect(Bench.readable, reads: keeper == .pairing ? [1, 2, 3] : [1])
                    }
                }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(watched.count == 2)
            #expect(watched.names == [])
        }
    }

    @Test func `a central is, also if the answers of its peripherals keep those`() async throws {
        let watched = Watched()
        try await Bench.run { bench in
            for _ in 0..<2 {
                try await Central.with(.radio(bench.air.adapter())) { central in
                    watched.add([("the central", central), ("what it has", central.core)])
                    let device = central.peripheral(bench.peripheralAdapter.address)
                    device.allowPairing(PairingAnswers(passkey: { device.hasLink ? 123_456 : nil }))
                    try await device.withLink { link in try await link.expect(Bench.readable, reads: [1, 2, 3]) }
                }
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(watched.count == 4)
            #expect(watched.names == [])
        }
    }
}
