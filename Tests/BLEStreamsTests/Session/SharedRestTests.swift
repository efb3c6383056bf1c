import BLESimulator
import BLEStreams
import Testing

/// The rest of a message that is given up while others receive the same subscription.
extension SuccessiveMessagesTests {
    @Test func `a part that one consumer of a shared stream has got in an error is none of a later message`()
        async throws
    {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\nthr"], ["ee\n"]]) { _, session in
            try await session.ready()
            let lines = Self.lines(session).share()
            try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask { try await lines.take(until: { $0 == "two" }).collect() }
                let error = await bleError { _ = try await lines.timeout(.seconds(5)).collect(3) }
                #expect(error?.code == .timedOut && error?.received == Array("hal".utf8))
                let taken = try await group.next() ?? []
                #expect(Array(taken.suffix(2)) == ["half", "two"])
            }
            let next = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(next == "three")
        }
    }

    @Test(arguments: [1, 2])
    func `behind what an error of a shared stream has handed out, the next stream begins`(consumers: Int) async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { _, session in
            try await session.ready()
            let lines = Self.lines(session).timeout(.seconds(5)).share()
            await withTaskGroup(of: BLEError?.self) { group in
                for _ in 0..<consumers {
                    group.addTask { await bleError { _ = try await lines.collect(3) } }
                }
                for await error in group {
                    #expect(error?.code == .timedOut && error?.received == Array("hal".utf8))
                }
            }
            let taken = try await Self.lines(session).timeout(.seconds(60)).collect(2)
            #expect(taken == ["f", "two"])
        }
    }

    @Test func `the error of another stream hands out no part that comes whole to the next stream`() async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            let failing = BLEStream.interval(.seconds(5), timeline: bench.time).map { _ -> String in
                throw Stage.failure
            }
            let lines = Self.lines(session).merge(with: failing)
            let error = await bleError { _ = try await lines.collect(3) }
            #expect(error?.operation == "play" && error?.received == nil && error?.receivedParts.isEmpty == true)
            let next = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(next == "half")
        }
    }

    @Test func `beside others, the error of another stream hands out the part, and the next stream has its rest`()
        async throws
    {
        try await Self.run(bursts: [[], ["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask { try await Self.lines(session).collect(3) }
                let failing = BLEStream.interval(.seconds(15), timeline: bench.time).map { _ -> String in
                    throw Stage.failure
                }
                let error = await bleError { _ = try await Self.lines(session).merge(with: failing).collect(3) }
                #expect(error?.operation == "play" && error?.received == nil)
                #expect(error?.receivedParts.map(\.octets) == [Array("hal".utf8)])
                let next = try await Self.lines(session).timeout(.seconds(60)).first()
                #expect(next == "f")
                let whole = try await group.next()
                #expect(whole == ["one", "half", "two"])
            }
        }
    }

    @Test func `what two streams of one consumer leave is kept, and no error has it`() async throws {
        try await Self.run(bursts: [[], ["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            let failing = BLEStream.interval(.seconds(15), timeline: bench.time).map { _ -> String in
                throw Stage.failure
            }
            let lines = [Self.lines(session), Self.lines(session), failing].merged()
            let error = await bleError { _ = try await lines.collect(4) }
            #expect(error?.operation == "play" && error?.receivedParts.isEmpty == true)
            let next = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(next == "half")
        }
    }

    @Test func `each of several streams of one consumer drops the rest of the message`() async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { _, session in
            let lines = Self.lines(session).merge(with: Self.lines(session))
            let taken = try await lines.timeout(.seconds(5)).retry(.constant(.seconds(1))).collect(4)
            #expect(taken == ["one", "one", "two", "two"])
        }
    }
}
