import BLESimulator
import BLEStreams
import Testing

/// A queue that connects, authorizes and retries, in each order of these, whose active flow is replaced and cancelled
/// while links are lost.
@Suite(.timeLimit(.minutes(10))) struct ReplacingInDecoratedQueueTests {
    /// Hears values and reads one that only an authorized link gives, for as long as it is let.
    private struct Following: Command {
        let name: String
        let log: Recorder<String>

        func run(in context: CommandContext) async throws {
            log.add("begin \(name)")
            defer { log.add("end \(name)") }
            context.begin("follow")
            try await context.subscribe(to: Bench.notifying)
            while true {
                let (_, source) = try await context.value(timeout: .seconds(20))
                #expect(source == .uuid(Bench.notifying))
                let secret = try await context.read(Bench.dynamic)
                #expect(secret.bytes == [42])
                log.add("heard \(name)")
            }
        }
    }

    /// How the life of a flow is ended.
    private enum Fate: CaseIterable { case replaced, cancelledInQueue, cancelledTask }

    private static let orders = [
        [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
    ]

    private static func decorated(_ queue: CommandQueue, _ order: [Int]) -> CommandQueue {
        order.reduce(queue) { queue, decoration in
            switch decoration {
            case 0: queue.connecting(timeout: .seconds(5), then: .stay)
            case 1: queue.authorizing { try await $0.write(DecoratorTests.key, to: Bench.dynamic) }
            default: queue.retrying(.constant(.milliseconds(100), attempts: 200))
            }
        }
    }

    /// Sends values, and gives its secret on links that have brought the key.
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await DecoratorTests.guarded(server, bench) }
            group.addTask {
                while true {
                    _ = try await server.notify([1], of: Bench.notifying)
                    try await bench.time.sleep(for: .milliseconds(150))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: orders, 1...4 as ClosedRange<UInt64>)
    func `one flow at a time works, each ends as it is told, and nothing is left`(order: [Int], seed: UInt64)
        async throws
    {
        try await Bench.run(seed: seed, serve: Self.serve) { bench in
            bench.air.faults.add(.loseLinks(every: .seconds(4)))
            let (log, ends) = (Recorder<String>(), Recorder<String>())
            try await bench.peripheral.withQueue { plain in
                let queue = Self.decorated(plain, order)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    var chance = Chance(seed: seed)
                    for number in 0..<8 {
                        let fate = number == 7 ? Fate.cancelledTask : Fate.allCases[chance.below(3)]
                        let life = Duration.milliseconds(50 + chance.below(4_000))
                        group.addTask {
                            let flow = Following(name: "\(number)", log: log)
                            ends.add(await Self.end(of: flow, in: queue, after: life, fate, bench))
                        }
                        try await bench.time.sleep(for: life + .milliseconds(1 + chance.below(300)))
                    }
                    try await group.waitForAll()
                }
                #expect(queue.activeFlow == nil)
                let contents = try await queue.contents.first()
                #expect(contents.isEmpty)
                bench.air.faults.removeAll()
                let secret = try await queue.run(.read(Bench.dynamic))
                #expect(secret.bytes == [42])
                try await plain.run(.block("look") { try await $0.expectNoSubscriptions() })
            }
            // Eight ends, each as its flow was told; between begin and end of one there is nothing of another.
            #expect(ends.all.count == 8 && !ends.all.contains { $0.hasSuffix("otherwise") }, "\(ends.all)")
            var inside: String?
            for word in log.all.map({ $0.split(separator: " ") }) {
                let (verb, name) = (word[0], String(word[1]))
                #expect(verb == "begin" ? inside == nil : inside == name, "\(log.all)")
                inside = verb == "end" ? nil : name
            }
            #expect(inside == nil && log.all.contains { $0.hasPrefix("heard") })
        }
    }

    /// Runs a flow as the active one until its fate comes, and tells how it has ended.
    private static func end(
        of flow: Following,
        in queue: CommandQueue,
        after life: Duration,
        _ fate: Fate,
        _ bench: Bench
    ) async -> String {
        let result = await withTaskGroup(of: Result<Void, any Error>?.self) { group in
            group.addTask {
                do {
                    return .success(try await queue.run(flow, replacing: .activeFlow))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await bench.time.sleep(for: life)
                return nil
            }
            var result: Result<Void, any Error>?
            for await event in group {
                if let event {
                    result = event
                    group.cancelAll()
                } else if fate == .cancelledTask {
                    group.cancelAll()
                } else if fate == .cancelledInQueue, result == nil {
                    let contents = try? await queue.contents.first()
                    let items = [contents?.running].compactMap { $0 } + (contents?.waiting ?? [])
                    for item in items where item.name == flow.name { queue.cancel(item.id) }
                }
            }
            return result
        }
        switch result {
        case .failure(is CancellationError) where fate != .replaced: return "\(flow.name) cancelled"
        // Whoever is replaced before its fate has come ends as replaced, too.
        case .failure(let error as BLEError) where error.code == .ended && error.cause.hasPrefix("another command"):
            return "\(flow.name) replaced"
        default: return "\(flow.name) \(String(describing: result)) otherwise"
        }
    }
}
