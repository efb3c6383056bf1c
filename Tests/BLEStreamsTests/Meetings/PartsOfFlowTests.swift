import BLESimulator
import Testing

@testable import BLEStreams

/// Parts of one flow that wait for its events at the same time, each in a child task.
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
