import BLESimulator
import BLEStreams
import Testing

/// Streams of a session that begin while it is still on its way to ready.
@Suite(.timeLimit(.minutes(10))) struct StreamMeanwhileTests {
    /// Found by world 17.
    @Test func `a stream that begins during the program's own first steps has its values once the session is ready`()
        async throws
    {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let initialise: @Sendable (Link) async throws -> Void = { _ in
                begin.yield()
                try await bench.time.sleep(for: .seconds(2))
            }
            let session = bench.central.session(Session.Plan(bench.peripheral), initialise: initialise)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                for await _ in begun { break }
                let values = try await session.notifications(of: Bench.notifying).collect(3)
                #expect(values.map { UInt32(octets: $0) } == [0, 1, 2])
                group.cancelAll()
            }
        }
    }
}
