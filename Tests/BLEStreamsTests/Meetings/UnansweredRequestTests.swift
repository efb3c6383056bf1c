import BLESimulator
import BLEStreams
import Testing

/// A request that a peripheral leaves unanswered for 30 s costs the link, as the specification says. To whoever may
/// have another one, that is a lost link.
@Suite(.timeLimit(.minutes(10))) struct UnansweredRequestTests {
    private struct Reading: Command {
        func run(in context: CommandContext) async throws -> CharacteristicValue {
            try await context.resuming { try await context.read(Bench.readable) }
        }
    }

    private static func mute(_ bench: Bench) { bench.air.faults.add(.swallow(.readResponses).times(1)) }

    @Test func `a command that is retried makes another link`() async throws {
        try await Bench.run { bench in
            Self.mute(bench)
            try await bench.peripheral.withQueue { queue in
                let value = try await queue.connecting().run(.read(Bench.readable).retry())
                #expect(Array(value) == [1, 2, 3])
            }
        }
    }

    @Test func `a command that isn't retried fails with what has happened`() async throws {
        try await Bench.run { bench in
            Self.mute(bench)
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { _ = try await queue.connecting().run(.read(Bench.readable)) }
                #expect(error?.code == .timedOut && error?.reason?.kind == .transactionTimeout)
            }
        }
    }

    @Test func `a retried command and a flow in a session's queue go on on its next link`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                Self.mute(bench)
                let first = try await session.queue.run(.read(Bench.readable).retry())
                #expect(Array(first) == [1, 2, 3])
                Self.mute(bench)
                let second = try await session.queue.run(Reading())
                #expect(Array(second) == [1, 2, 3])
            }
        }
    }

    @Test func `a flow that connects goes on on the next link`() async throws {
        try await Bench.run { bench in
            Self.mute(bench)
            try await bench.peripheral.withQueue { queue in
                let value = try await queue.connecting().run(Reading())
                #expect(Array(value) == [1, 2, 3])
            }
        }
    }

    @Test func `a stream over links that is retried reads its first value on the next one`() async throws {
        try await Bench.run { bench in
            Self.mute(bench)
            let value = try await bench.peripheral.stream { $0.values(of: Bench.counter) }.retry().first()
            #expect(Array(value) == [9])
        }
    }

    @Test func `a session's stream that begins with a reading has it on the next link`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                Self.mute(bench)
                let value = try await session.values(of: Bench.counter).first()
                #expect(Array(value) == [9])
            }
        }
    }

    @Test func `a session's stream whose subscription isn't answered has it on the next link`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.limits.subscribe = .seconds(60)
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                // Of the bench's own service: see `Bench.writes`.
                bench.air.faults.add(.swallow(.where { $0.first == 0x12 && $0.count > 2 && $0[1] > 0x0D }).times(1))
                _ = try await session.notifications(of: Bench.notifying).first()
                #expect(bench.time.now > .seconds(30))
            }
        }
    }
}
