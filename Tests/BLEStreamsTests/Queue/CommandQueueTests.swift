import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommandQueueTests {
    /// A command that takes so many seconds, and writes down when it begins and ends.
    static func work(_ name: String, _ seconds: Int, _ log: Recorder<String>, _ bench: Bench) -> CommandBlock<Void> {
        CommandBlock(name) { _ in
            log.add("\(name) begins \(bench.time.now.components.seconds)")
            defer { log.add("\(name) ends \(bench.time.now.components.seconds)") }
            try await bench.time.sleep(for: .seconds(seconds))
        }
    }

    @Test func `commands run one at a time, by priority, and then in order`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let plan: [(String, CommandQueue.Priority)] = [
                        ("a", .normal), ("b", .low), ("c", .high), ("d", .normal),
                    ]
                    for (name, priority) in plan {
                        group.addTask {
                            try await queue.run(Self.work(name, 2, log, bench), priority: priority)
                        }
                        try await bench.time.sleep(for: .milliseconds(100))
                    }
                    try await group.waitForAll()
                }
            }
            #expect(
                log.all == [
                    "a begins 0", "a ends 2", "c begins 2", "c ends 4", "d begins 4", "d ends 6", "b begins 6",
                    "b ends 8",
                ]
            )
        }
    }

    @Test func `a command that is cancelled, waiting or running, disturbs no other`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                await withTaskGroup(of: String.self) { group in
                    for name in ["a", "b", "c"] {
                        group.addTask {
                            do {
                                try await queue.run(Self.work(name, 10, log, bench))
                                return "\(name) done"
                            } catch {
                                return "\(name) \(error is CancellationError ? "cancelled" : "\(error)")"
                            }
                        }
                        try? await bench.time.sleep(for: .milliseconds(100))
                    }
                    // b waits, then a runs.
                    #expect(queue.cancel(2))
                    #expect(await group.next() == "b cancelled")
                    #expect(queue.cancel(1))
                    #expect(await group.next() == "a cancelled")
                    #expect(await group.next() == "c done")
                    #expect(!queue.cancel(3))
                }
            }
            #expect(log.all == ["a begins 0", "a ends 0", "c begins 0", "c ends 10"])
        }
    }

    @Test func `cancelling the task of a caller cancels its command`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            try await queue.run(Self.work("a", 10, log, bench))
                        }
                    }
                    try? await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                }
                try await queue.run(Self.work("b", 1, log, bench))
            }
            #expect(log.all == ["a begins 0", "a ends 1", "b begins 1", "b ends 2"])
        }
    }

    @Test func `a deadline counts waiting and running`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.run(Self.work("a", 5, log, bench)) }
                    try await bench.time.sleep(for: .milliseconds(100))
                    let waiting = await bleError {
                        try await queue.run(Self.work("b", 1, log, bench), deadline: .seconds(2))
                    }
                    #expect(waiting?.code == .timedOut && waiting?.cause.contains("turn did not come") == true)
                    let running = await bleError {
                        try await queue.run(Self.work("c", 60, log, bench), deadline: .seconds(5))
                    }
                    #expect(running?.code == .timedOut && running?.cause.contains("did not end") == true)
                    try await group.waitForAll()
                }
            }
            #expect(log.all == ["a begins 0", "a ends 5", "c begins 5", "c ends 7"])
        }
    }

    @Test func `a command that fails doesn't stop the queue`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                // Nobody has connected.
                #expect(
                    await bleError { try await queue.run(.read(Bench.readable)) }?.remedy.contains(".connect") == true
                )
                try await queue.run(.connect)
                #expect(await bleError { try await queue.run(.read(BluetoothUUID(0xBEEF))) }?.code == .notFound)
                let value = try await queue.run(.read(Bench.readable))
                #expect(Array(value) == [1, 2, 3])
                try await queue.run(.disconnect)
                #expect(bench.centralAdapter.activity.links.isEmpty)
            }
        }
    }

    @Test func `a command that waits for its own queue is told so`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let error = await bleError {
                    try await queue.run(CommandBlock("outer") { _ in try await queue.run(.connect) })
                }
                #expect(error?.code == .deadlock && error?.operation == "connect")
                // Also from a child task of the command.
                let child = await bleError {
                    try await queue.run(
                        CommandBlock("outer") { _ in
                            async let inner: Void = queue.run(.connect)
                            try await inner
                        }
                    )
                }
                #expect(child?.code == .deadlock)
                try await queue.run(.connect)
                // Another queue is no matter; nor is the link outside of the queue, but for the command itself.
                let link = try #require(queue.link)
                let own = await bleError {
                    try await queue.run(.block("read") { _ in _ = try await link.read(Bench.readable) })
                }
                #expect(own?.code == .deadlock)
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
        }
    }

    @Test func `the contents are a stream`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await contents in queue.contents {
                            var text = "\(contents)"
                            if let ended = contents.ended { text += "; ended: \(ended.item.name) \(ended.outcome)" }
                            log.add(text)
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    group.addTask {
                        try await queue.run(
                            CommandBlock("a") { context in
                                try await bench.time.sleep(for: .seconds(1))
                                context.report(CommandProgress(phase: "half", completed: 1, total: 2))
                                try await bench.time.sleep(for: .seconds(1))
                            }
                        )
                    }
                    try await bench.time.sleep(for: .milliseconds(100))
                    try await queue.run(CommandBlock("b") { _ in })
                    try await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            #expect(
                log.all == [
                    "nothing", "nothing; waiting: a", "a", "a; waiting: b", "a (half 1/2); waiting: b",
                    "nothing; waiting: b; ended: a done", "b", "nothing; ended: b done",
                ]
            )
        }
    }

    @Test func `what is seen of a queue ends with it, also for who comes later`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let queue = try await bench.peripheral.withQueue { queue in
                    group.addTask {
                        for try await contents in queue.contents where contents.running != nil {
                            log.add("\(contents)")
                        }
                        log.add("contents end")
                    }
                    group.addTask {
                        for try await progress in queue.progress { log.add("\(progress.phase)") }
                        log.add("progress ends")
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    try await queue.run(CommandBlock("a") { $0.report(CommandProgress(phase: "half")) })
                    return queue
                }
                try await group.waitForAll()
                #expect(log.all.sorted() == ["a", "a (half)", "contents end", "half", "progress ends"])
                for try await _ in queue.progress {}
                #expect(try await queue.contents.map { "\($0)" }.collect() == ["nothing"])
            }
        }
    }

    @Test func `the end of the queue ends what is in it, and the link`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await bench.peripheral.withQueue { queue in
                    try await queue.run(.connect)
                    for name in ["a", "b"] {
                        group.addTask {
                            let error = await bleError { try await queue.run(Self.work(name, 100, log, bench)) }
                            #expect(error?.code == .ended)
                        }
                        try await bench.time.sleep(for: .milliseconds(100))
                    }
                }
                #expect(bench.centralAdapter.activity.links.isEmpty && log.all.count == 2)
                try await group.waitForAll()
            }
        }
    }

    /// Many callers with chance in all they do; each command notes that it is alone.
    @Test(arguments: 0..<30) func `whatever happens, one at a time`(seed: Int) async throws {
        try await Bench.run(seed: UInt64(seed)) { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        var chance = Chance(seed: UInt64(seed * 100 + number))
                        let (start, length, patience) = (chance.below(2000), chance.below(500), chance.below(4000))
                        let priority = CommandQueue.Priority(rawValue: chance.below(3))
                        group.addTask {
                            try? await bench.time.sleep(for: .milliseconds(start))
                            let work = CommandBlock("work") { _ in
                                log.add("begin")
                                defer { log.add("end") }
                                try await bench.time.sleep(for: .milliseconds(length))
                            }
                            do {
                                try await queue.run(work, priority: priority, deadline: .milliseconds(patience))
                                log.add("done")
                            } catch {
                                #expect((error as? BLEError)?.code == .timedOut)
                            }
                        }
                    }
                }
            }
            let turns = log.all.filter { $0 != "done" }
            #expect(turns == (0..<turns.count).map { $0.isMultiple(of: 2) ? "begin" : "end" })
            #expect(log.all.contains("done"))
        }
    }
}
