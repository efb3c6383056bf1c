import BLESimulator
import Testing

@testable import BLEStreams

/// Parts of one flow that wait for its events, or for its link, at the same time, each in a child task.
@Suite(.timeLimit(.minutes(10))) struct PartsOfFlowTests {
    private struct Over: Error {}

    private static func number(in context: CommandContext) async throws -> UInt32 {
        UInt32(octets: try await context.value(timeout: .seconds(60)).value)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `two that wait at once get a value each`(seed: UInt64) async throws {
        try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
            try await bench.peripheral.withQueue { queue in
                let flow = CommandBlock<[UInt32]>("parts") { context in
                    try await context.subscribe(to: Bench.notifying)
                    async let first = Self.number(in: context)
                    async let second = Self.number(in: context)
                    return try await [first, second].sorted()
                }
                let numbers = try await queue.connecting().run(flow)
                #expect(numbers.count == 2 && numbers[0] + 1 == numbers[1], "\(numbers)")
            }
        }
    }

    @Test func `two that connect at once have one link`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flow = CommandBlock<[UInt8]>("parts") { context in
                    async let first: [UInt8] = context.resuming { Array(try await context.read(Bench.readable)) }
                    async let second: [UInt8] = context.resuming { Array(try await context.read(Bench.readOnly)) }
                    return try await first + second
                }
                let values = try await queue.run(flow, deadline: .seconds(60))
                #expect(values == [1, 2, 3, 7] && bench.time.now < .seconds(10))
            }
            let links = bench.air.trace.filter { if case .connected = $0.event { true } else { false } }
            #expect(links.count == 1)
        }
    }

    /// How a part goes on behind a lost link.
    private enum Persistence: CaseIterable {
        case resuming, retrying

        /// What a device tells on a link that is authorized.
        func secret(in context: CommandContext) async throws -> [UInt8] {
            let policy = RetryPolicy.constant(.milliseconds(100), attempts: 2)
            switch self {
            case .resuming:
                return try await context.resuming(policy) { Array(try await context.read(Bench.dynamic)) }
            case .retrying:
                return Array(try await CommandBlock.read(Bench.dynamic).retry(policy).run(in: context))
            }
        }
    }

    @Test(arguments: [false, true], Persistence.allCases)
    private func `two that lose their link at once go on, on the next one, once that is authorized`(
        isInSession: Bool,
        persistence: Persistence
    ) async throws {
        try await Bench.run(serve: DecoratorTests.guarded) { bench in
            let flow = CommandBlock<[UInt8]>("parts") { context in
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                async let first = persistence.secret(in: context)
                async let second = persistence.secret(in: context)
                return try await first + second
            }
            let run: @Sendable (CommandQueue) async throws -> Void = { plain in
                let queue = plain.connecting().authorizing { link in
                    try await bench.time.sleep(for: .seconds(2))
                    try await link.write(DecoratorTests.key, to: Bench.dynamic)
                }
                let values = try await queue.run(flow, deadline: .seconds(60))
                #expect(values == [42, 42] && bench.time.now < .seconds(10))
            }
            if isInSession {
                try await bench.central.withSession(Session.Plan(bench.peripheral)) { try await run($0.queue) }
            } else {
                try await bench.peripheral.withQueue(run)
            }
            #expect(DecoratorTests.writes(bench) == 2)
        }
    }

    @Test(arguments: [false, true])
    func `one that may not wait so long for another one's link is told what is missing`(
        reconnects: Bool
    ) async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.outOfRange(lasting: .seconds(20)))
            let flow = CommandBlock<Void>("parts") { context in
                async let first: Void = context.connect(timeout: .seconds(60))
                try await bench.time.sleep(for: .seconds(1))
                let error = await bleError {
                    if reconnects {
                        try await context.reconnect(.constant(.zero, attempts: 0), within: .seconds(5))
                    } else {
                        try await context.connect(timeout: .seconds(5))
                    }
                }
                #expect(error?.code == .timedOut && error?.cause.contains("there was no link") == true)
                #expect(bench.time.now < .seconds(7))
                try await first
                try await context.link.expect(Bench.readOnly, reads: [7])
            }
            try await bench.peripheral.withQueue { try await $0.run(flow) }
        }
    }

    @Test func `one that may not wait until another one has authorized is told of that`() async throws {
        try await Bench.run { bench in
            let flow = CommandBlock<Void>("parts") { context in
                async let first: Void = context.connect(timeout: .seconds(60))
                // The link is up by then.
                try await bench.time.sleep(for: .seconds(5))
                let error = await bleError { try await context.connect(timeout: .seconds(5)) }
                #expect(error?.code == .timedOut && error?.cause.contains("did not finish authorizing") == true)
                #expect(bench.time.now < .seconds(12))
                try await first
                try await context.link.expect(Bench.readOnly, reads: [7])
            }
            try await bench.peripheral.withQueue { plain in
                let queue = plain.authorizing { _ in try await bench.time.sleep(for: .seconds(20)) }
                try await queue.run(flow)
            }
        }
    }

    @Test func `the end is told to all that wait`() async throws {
        try await VirtualTime.run { time in
            let inbox = Inbox<Int>(timeline: time)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        await #expect(throws: Over.self) {
                            _ = try await inbox.next(limit: (.seconds(60), { CancellationError() }))
                        }
                    }
                }
                try await time.sleep(for: .seconds(1))
                inbox.finish(Over())
                try await group.waitForAll()
            }
            #expect(time.now < .seconds(2))
        }
    }

    @Test func `one that gives up leaves the value to the others`() async throws {
        try await VirtualTime.run { time in
            let inbox = Inbox<Int>(timeline: time)
            let values = try await withThrowingTaskGroup(of: Int?.self) { group in
                for limit in [60, 5, 60] {
                    group.addTask { try? await inbox.next(limit: (.seconds(limit), { CancellationError() })) }
                }
                try await time.sleep(for: .seconds(10))
                inbox.send(1)
                inbox.send(2)
                return try await group.reduce(into: [Int?]()) { $0.append($1) }
            }
            #expect(values.compactMap { $0 }.sorted() == [1, 2] && values.count == 3)
            #expect(time.now < .seconds(11))
        }
    }
}
