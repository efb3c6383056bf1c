import BLESimulator
import BLEStreams
import Testing

/// One link that lasts for months, and all that comes and goes on it.
@Suite(.timeLimit(.minutes(10))) struct LongLinkTests {
    private static let flow = CommandBlock<Void>("hear") { $0.begin("hear") }

    @Test func `flows and streams that have gone leave nothing on the link`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let before = link.endWatchers
                for _ in 0..<3 {
                    try await link.run(Self.flow)
                    _ = try await link.conditionChanges.first()
                    _ = try await link.securityChanges.first()
                    #expect(link.endWatchers == before)
                }
            }
        }
    }

    @Test func `flows of a session's queue leave nothing on its link`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                let link = try #require(session.link)
                let before = link.endWatchers
                for _ in 0..<3 {
                    try await session.queue.run(Self.flow)
                    try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                    #expect(link.endWatchers == before)
                }
            }
        }
    }
}
