import BLESimulator
import BLEStreams
import Testing

/// A session's queue that connects, authorizes and retries, in each order of these, on links that are lost again and
/// again, beside a stream of the session.
@Suite(.timeLimit(.minutes(10))) struct DecoratedSessionQueueTests {
    private static let orders = [
        [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
    ]

    private static func decorated(_ queue: CommandQueue, _ order: [Int]) -> CommandQueue {
        order.reduce(queue) { queue, decoration in
            switch decoration {
            case 0: queue.connecting(timeout: .seconds(5))
            case 1: queue.authorizing { try await $0.write(DecoratorTests.key, to: Bench.dynamic) }
            default: queue.retrying(.constant(.milliseconds(100), attempts: 200))
            }
        }
    }

    /// Sends rising numbers, and gives its secret on links that have brought the key.
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await DecoratorTests.guarded(server, bench) }
            group.addTask {
                for number in UInt32(0)... {
                    try await server.notify(number.octets, of: Bench.notifying)
                    try await bench.time.sleep(for: .milliseconds(250))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: orders, 1...3 as ClosedRange<UInt64>)
    func `each command is done, in turn, and authorized once on each link; the stream tells each loss`(
        order: [Int],
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Self.serve) { bench in
            let (numbers, gaps, done) = (Recorder<UInt32>(), Recorder<StreamGap>(), Recorder<Int>())
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = .constant(.milliseconds(200))
            try await bench.central.withSession(plan) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await item in session.notifications(of: Bench.notifying).withGaps() {
                            switch item {
                            case .value(let value): numbers.add(UInt32(octets: value))
                            case .gap(let gap): gaps.add(gap)
                            }
                        }
                    }
                    try await session.ready()
                    bench.air.faults.add(.loseLinks(every: .seconds(2)))
                    let queue = Self.decorated(session.queue, order)
                    let handles = (0..<30).map { number in
                        queue.enqueue(
                            CommandBlock<Void>("\(number)") { context in
                                for _ in 0..<3 {
                                    let secret = try await context.read(Bench.dynamic)
                                    #expect(secret.bytes == [42])
                                    try await bench.time.sleep(for: .milliseconds(150))
                                }
                                done.add(number)
                            }
                        )
                    }
                    for handle in handles { try await handle.value }
                    bench.air.faults.removeAll()
                    // It goes on behind the last loss.
                    let count = numbers.all.count
                    try await bench.time.sleep(for: .seconds(5))
                    #expect(numbers.all.count > count + 10)
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            #expect(done.all == Array(0..<30))
            let links = bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
            let keys = bench.writes.filter { $0 == DecoratorTests.key }.count
            #expect(links > 2 && (1...links).contains(keys), "\(links) links, \(keys) keys")
            let steps = zip(numbers.all, numbers.all.dropFirst()).map { Int($1) - Int($0) }
            #expect(steps.allSatisfy { $0 > 0 } && steps.filter { $0 != 1 }.count <= gaps.all.count, "\(steps)")
            #expect(!gaps.all.isEmpty && gaps.all.count < links && gaps.all.allSatisfy { $0.reason is BLEError })
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }
}
