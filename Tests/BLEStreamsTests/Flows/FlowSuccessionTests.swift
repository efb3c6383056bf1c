import BLESimulator
import BLEStreams
import Testing

/// Flows that are replaced or cancelled while they wait for the clean-up of the one before them.
@Suite(.timeLimit(.minutes(10))) struct FlowSuccessionTests {
    /// Works until it is cancelled, and then cleans up for three seconds.
    private struct Cleaning: Command {
        let name: String
        let log: Recorder<String>
        let stage: Stage

        func run(in context: CommandContext) async throws {
            log.add("begin \(name)")
            defer { log.add("end \(name)") }
            do { try await stage.time.sleep(for: .seconds(100)) } catch {
                await stage.work(for: 3)
                throw error
            }
        }
    }

    /// Runs flows as the active one; each begins a second behind the one before it, and is cancelled when told.
    private static func run(
        _ count: Int,
        cancelling cancelled: Int? = nil,
        seed: UInt64
    ) async throws -> (log: [String], ends: [String]) {
        let (log, ends) = (Recorder<String>(), Recorder<String>())
        try await Bench.run(seed: seed) { bench in
            let stage = Stage(bench.time)
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<count {
                        group.addTask {
                            await withTaskGroup(of: Void.self) { one in
                                one.addTask {
                                    let flow = Cleaning(name: "\(number)", log: log, stage: stage)
                                    do {
                                        try await queue.run(flow, replacing: .activeFlow)
                                    } catch let error as BLEError {
                                        ends.add("\(number): \(error.cause)")
                                    } catch {
                                        ends.add("\(number): \(error)")
                                    }
                                }
                                if number == cancelled {
                                    await stage.work(for: 0, and: .milliseconds(500))
                                    one.cancelAll()
                                }
                            }
                        }
                        await stage.work(for: 1)
                    }
                    await stage.work(for: 10)
                    group.cancelAll()
                }
                #expect(queue.activeFlow == nil)
            }
        }
        return (log.all, ends.all)
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `one that is replaced before its turn never begins`(seed: UInt64) async throws {
        let (log, ends) = try await Self.run(3, seed: seed)
        #expect(log == ["begin 0", "end 0", "begin 2", "end 2"])
        let replaced = "another command has taken its place"
        #expect(ends == ["0: \(replaced): 1", "1: \(replaced): 2", "2: CancellationError()"])
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `one that is cancelled before its turn leaves the next one waiting for the first`(seed: UInt64) async throws {
        let (log, ends) = try await Self.run(3, cancelling: 1, seed: seed)
        #expect(log == ["begin 0", "end 0", "begin 2", "end 2"])
        #expect(
            ends == [
                "1: CancellationError()", "0: another command has taken its place: 1", "2: CancellationError()",
            ]
        )
    }

    @Test func `one whose task is cancelled before it is run replaces nobody`() async throws {
        let log = Recorder<String>()
        try await Bench.run { bench in
            let stage = Stage(bench.time)
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await queue.run(Cleaning(name: "0", log: log, stage: stage), replacing: .activeFlow)
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    await withTaskGroup(of: Void.self) { late in
                        late.cancelAll()
                        late.addTask {
                            let flow = Cleaning(name: "1", log: log, stage: stage)
                            await #expect(throws: CancellationError.self) {
                                try await queue.run(flow, replacing: .activeFlow)
                            }
                        }
                    }
                    #expect(queue.activeFlow == "0")
                    try await group.waitForAll()
                }
            }
        }
        #expect(log.all == ["begin 0", "end 0"])
    }

    /// The second one is cancelled before the third one comes, or while that waits for it.
    @Test(arguments: [false, true])
    func `the third one's deadline doesn't count the clean-up that the second one did not wait for`(
        isLate: Bool
    ) async throws {
        let log = Recorder<String>()
        try await Bench.run { bench in
            let stage = Stage(bench.time)
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let flow = Cleaning(name: "0", log: log, stage: stage)
                        let error = await bleError { try await queue.run(flow, replacing: .activeFlow) }
                        #expect(error?.code == .ended)
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    group.addTask {
                        await withTaskGroup(of: Void.self) { second in
                            second.addTask {
                                let flow = Cleaning(name: "1", log: log, stage: stage)
                                await #expect(throws: CancellationError.self) {
                                    try await queue.run(flow, replacing: .activeFlow)
                                }
                            }
                            await stage.work(for: isLate ? 1 : 0, and: .milliseconds(500))
                            second.cancelAll()
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    #expect(queue.activeFlow == (isLate ? "1" : "0"))
                    let flow = CommandBlock<Void>("2") { _ in log.add("2") }
                    // The first one cleans up for two seconds yet.
                    try await queue.run(flow, replacing: .activeFlow, deadline: .seconds(1))
                    try await group.waitForAll()
                }
                #expect(queue.activeFlow == nil)
            }
        }
        #expect(log.all == ["begin 0", "end 0", "2"])
    }
}
