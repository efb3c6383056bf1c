import BLESimulator
import BLEStreams
import Testing

/// Streams of a session that begin while it is still on its way to ready, or while it loses its link.
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

    @Test func `a stream that is left while its subscription is being made can be begun again at once`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // The subscription waits for this user of the link.
                        try await bench.peripheral.withLink { link in
                            try await link.exclusively { _ in try await bench.time.sleep(for: .seconds(20)) }
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    let stream = session.notifications(of: Bench.notifying)
                    for _ in 0..<5 {
                        let error = await bleError { _ = try await stream.timeout(.seconds(2)).first() }
                        #expect(error?.code == .timedOut, "\(error?.description ?? "")")
                    }
                    _ = try await stream.timeout(.seconds(60)).first()
                    try await group.waitForAll()
                }
                #expect(session.state.isReady)
            }
        }
    }

    /// Its subscription's turn comes as the read fails: the link is given up then, but is not down yet.
    @Test func `a stream that begins during a read that is never answered has its values on the next link`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                bench.air.faults.add(.swallow(.readResponses).times(1))
                async let error = bleError { _ = try await session.read(Bench.readable) }
                try await bench.time.sleep(for: .seconds(1))
                #expect(session.state.kind == .reading)
                _ = try await session.notifications(of: Bench.notifying).timeout(.seconds(60)).first()
                #expect(await error?.reason?.kind == .transactionTimeout)
                #expect(session.state.isReady && bench.time.now < .seconds(40))
            }
        }
    }
}
