import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Many commands with chance in all they do, on links that are lost again and again.
@Suite(.timeLimit(.minutes(10))) struct QueueStressTests {
    /// How many commands are inside at once, and how many were at most.
    private final class Inside: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        func enter() {
            counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
        }

        func leave() { counts.withLock { $0.now -= 1 } }
    }

    /// Enqueues commands at random times, cancels some; every handle ends, and one command runs at a time.
    private static func work(_ queue: CommandQueue, _ bench: Bench, seed: Int) async throws {
        let inside = Inside()
        let outcomes = Recorder<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                var chance = Chance(seed: UInt64(seed * 1000 + number))
                let (start, length, kind) = (chance.below(60_000), chance.below(2000), chance.below(4))
                let (patience, priority) = (chance.below(5) == 0 ? chance.below(30_000) : nil, chance.below(3))
                group.addTask {
                    try await bench.time.sleep(for: .milliseconds(start))
                    let step = CommandBlock("work \(number)") { context in
                        inside.enter()
                        defer { inside.leave() }
                        _ = try await context.link.read(Bench.readable)
                        try await bench.time.sleep(for: .milliseconds(length))
                        _ = try await context.link.read(Bench.readOnly)
                    }
                    let command = kind == 0 ? step : step.retry(.constant(.milliseconds(100)))
                    let handle = queue.enqueue(
                        command,
                        priority: CommandQueue.Priority(rawValue: priority),
                        deadline: patience.map { .milliseconds($0) }
                    )
                    if kind == 3 {
                        try await bench.time.sleep(for: .milliseconds(length * 2))
                        handle.cancel()
                    }
                    do {
                        try await handle.value
                        outcomes.add("done")
                    } catch is CancellationError {
                        #expect(kind == 3)
                        outcomes.add("cancelled")
                    } catch let error as BLEError {
                        // Only what isn't retried, or has a deadline, fails for a lost link.
                        #expect(kind == 0 || (patience != nil && error.code == .timedOut), "\(error)")
                        outcomes.add("failed")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.most == 1 && outcomes.all.count == 30 && outcomes.all.contains("done"))
        let last = queue.enqueue(.read(Bench.readOnly))
        try await last.expect([7])
    }

    private static func connections(_ bench: Bench) -> Int {
        bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
    }

    private static func makeTrouble(_ bench: Bench, seed: Int) {
        var chance = Chance(seed: UInt64(seed))
        for _ in 0..<6 {
            bench.air.faults.add(.dropLink(insteadOf: .readRequests).skipping(chance.below(12)))
            bench.air.faults.add(.dropLink(insteadOf: .readResponses).skipping(chance.below(12)))
        }
    }

    /// Switches the adapter off for a while, some times.
    private static func switchAdapter(_ bench: Bench, seed: Int) async throws {
        var chance = Chance(seed: UInt64(seed + 500))
        for _ in 0..<3 {
            try await bench.time.sleep(for: .milliseconds(chance.below(20_000)))
            bench.centralAdapter.powerOff()
            try await bench.time.sleep(for: .milliseconds(chance.below(8000)))
            bench.centralAdapter.powerOn()
        }
    }

    @Test(arguments: 0..<20) func `a queue that connects, whatever happens`(seed: Int) async throws {
        try await Bench.run(seed: UInt64(seed + 1)) { bench in
            Self.makeTrouble(bench, seed: seed)
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await Self.switchAdapter(bench, seed: seed) }
                    group.addTask { try await Self.work(queue.connecting(), bench, seed: seed) }
                    try await group.waitForAll()
                }
            }
            #expect(bench.centralAdapter.activity.isIdle && Self.connections(bench) > 3)
        }
    }

    @Test(arguments: 0..<20) func `the queue of a session, whatever happens`(seed: Int) async throws {
        try await Bench.run(seed: UInt64(seed + 1), serve: Bench.sendForEver) { bench in
            Self.makeTrouble(bench, seed: seed)
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            let values = Recorder<Int>()
            try await bench.central.withSession(plan) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await value in session.notifications(of: Bench.notifying) { values.add(value.count) }
                    }
                    group.addTask {
                        while true {
                            _ = try? await session.read(Bench.readable)
                            try await bench.time.sleep(for: .milliseconds(700))
                        }
                    }
                    try await withThrowingTaskGroup(of: Void.self) { inner in
                        inner.addTask { try await Self.switchAdapter(bench, seed: seed) }
                        inner.addTask { try await Self.work(session.queue, bench, seed: seed) }
                        try await inner.waitForAll()
                    }
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            #expect(values.all.count > 10 && bench.centralAdapter.activity.isIdle && Self.connections(bench) > 3)
        }
    }
}
