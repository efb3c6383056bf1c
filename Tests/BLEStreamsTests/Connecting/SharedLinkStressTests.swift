import BLESimulator
import BLEStreams
import Testing

/// Streams, closures and sessions that come to one peripheral, stay for a while and leave, by chance, on a bad radio.
@Suite(.timeLimit(.minutes(10))) struct SharedLinkStressTests {
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt32 = 0
        while true {
            try await server.notify(number.octets, of: Bench.notifying)
            try await server.notify(number.octets, of: Bench.counter)
            number += 1
            try await bench.time.sleep(for: .milliseconds(500))
        }
    }

    @Test func `who comes gets its values, nobody hangs, and in the end nothing is left behind`() async throws {
        for seed in 1...25 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Self.serve) { bench in
                bench.air.faults.add(.loseLinks(every: .seconds(30)))
                bench.air.faults.add(.missAdvertisements(0.2))
                bench.air.faults.add(.refuseConnections(5))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for guest in 0..<8 {
                        group.addTask {
                            var chance = Chance(seed: seed &* 100 &+ UInt64(guest))
                            for _ in 0..<6 { try await Self.visit(bench, &chance, seed) }
                        }
                    }
                    try await group.waitForAll()
                }
                try await bench.time.sleep(for: .seconds(10))
                #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
            }
        }
    }

    private static func visit(_ bench: Bench, _ chance: inout Chance, _ seed: UInt64) async throws {
        try await bench.time.sleep(for: .milliseconds(chance.below(3000)))
        let stay = Duration.milliseconds(100 + chance.below(8000))
        let uuid = chance.below(2) == 0 ? Bench.notifying : Bench.counter
        switch chance.below(4) {
        case 0:
            let stream = bench.peripheral.stream { $0.notifications(of: uuid) }.retry().timeout(.seconds(120))
            let values = try await stream.prefix(1 + chance.below(20)).collect()
            #expect(!values.isEmpty, "seed \(seed)")
        case 1:
            // A link may be lost, and nothing else may go wrong.
            do {
                try await bench.peripheral.withLink { link in
                    _ = try await link.read(Bench.readable)
                    try await bench.time.sleep(for: stay)
                    _ = try await link.read(Bench.readable)
                }
            } catch let error as BLEError {
                #expect([.disconnected, .connectionFailed].contains(error.code), "seed \(seed): \(error)")
            }
        case 2:
            try await bench.central.withSession(Session.Plan(bench.peripheral).subscribing(to: uuid)) { session in
                _ = try await session.notifications(of: uuid).timeout(.seconds(120)).first()
                try await bench.time.sleep(for: stay)
            }
        default:
            // One who leaves in the middle of anything.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let stream = bench.peripheral.stream { $0.notifications(of: uuid) }.retry()
                    for try await _ in stream {}
                }
                try await bench.time.sleep(for: stay)
                group.cancelAll()
            }
        }
    }
}
