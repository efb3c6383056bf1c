import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Retried commands in queues that connect and authorize.
@Suite(.timeLimit(.minutes(10))) struct QueueRetryTests {
    private static let read = CommandBlock.read(Bench.readable)

    private static func connections(_ bench: Bench) -> Int {
        bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
    }

    @Test func `connecting within 5 s and reading with 10 attempts bears a device that is refused and then lost`()
        async throws
    {
        try await Bench.run { bench in
            // Two whole attempts to connect, and then two links that die in the read.
            bench.air.faults.add(.refuseConnections(2, reason: .other))
            bench.air.faults.add(.dropLink(insteadOf: .readRequests).times(2))
            try await bench.peripheral.withQueue { queue in
                let value = try await queue.connecting(timeout: .seconds(5)).run(
                    Self.read.retry(.exponential(attempts: 10))
                )
                #expect(Array(value) == [1, 2, 3])
            }
            #expect(Self.connections(bench) == 3)
        }
    }

    @Test func `attempts to connect count, and the last error is told when they are used up`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.ignoreConnections)
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(timeout: .seconds(5))
                let error = await bleError {
                    try await queue.run(Self.read.retry(.constant(.seconds(1), attempts: 2)))
                }
                #expect(error?.code == .timedOut && error?.operation == "connect")
                // Three attempts of five seconds, and two pauses.
                #expect(bench.time.now == .seconds(17))
            }
        }
    }

    @Test func `a time limit of a command doesn't cover the connecting, that of a retried one does`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.delayConnections(by: .seconds(6)))
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(then: .disconnect)
                try await queue.run(Self.read.timeout(.seconds(4)))
                let error = await bleError { try await queue.run(Self.read.retry().timeout(.seconds(4))) }
                #expect(error?.code == .timedOut && error?.operation == "read A001")
                try await queue.run(Self.read.timeout(.seconds(4)).retry().timeout(.seconds(20)).named("measure"))
            }
        }
    }

    @Test func `a retried member of a group, or behind then, finds a link at each attempt`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let compositions: [CommandBlock<Void>] = [
                    CommandBlock.write([1, 2, 3], to: Bench.readable).then(Self.read.retry()).then(
                        CommandBlock("end") { _ in }
                    ),
                    Self.read.retry().then(.write([1, 2, 3], to: Bench.readable)),
                    Self.read.retry().then { value in CommandBlock.write(Array(value), to: Bench.readable) },
                    CommandBlock.group("group") {
                        CommandBlock.write([1, 2, 3], to: Bench.readable)
                        Self.read.retry()
                        CommandBlock.write([1, 2, 3], to: Bench.readable)
                    }.named("group"),
                    CommandBlock.group("group") {
                        Self.read.retry()
                        CommandBlock.write([1, 2, 3], to: Bench.readable)
                    }.named("group"),
                ]
                for (index, command) in compositions.enumerated() {
                    // Without a link, refused for a whole attempt, and then lost in the read.
                    try await queue.run(.disconnect)
                    if index > 0, index != 3 { bench.air.faults.add(.refuseConnections(reason: .other)) }
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    try await queue.run(command)
                }
            }
            #expect(Self.connections(bench) == 10 + 1)
        }
    }

    @Test func `a group that is not retried fails when its link is lost`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                let group = CommandBlock.group("group") {
                    CommandBlock.write([1], to: Bench.readable)
                    Self.read
                    CommandBlock.write([2], to: Bench.readable)
                }
                #expect(await bleError { try await queue.connecting().run(group) }?.code == .disconnected)
                #expect(bench.writes == [[1]])
                // As a whole it is done from the beginning.
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                try await queue.connecting().run(group.retry())
                #expect(bench.writes == [[1], [1], [1], [2]])
            }
        }
    }

    @Test func `authorizing before each command is done at each attempt, and once on each`() async throws {
        try await Bench.run(serve: DecoratorTests.guarded) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing(.beforeEachCommand) {
                    try await $0.write(DecoratorTests.key, to: Bench.dynamic)
                }.connecting().timingOut(after: .seconds(60))
                let attempts = Mutex(0)
                let flaky = CommandBlock.block("flaky") { link in
                    let number = attempts.withLock { count in
                        count += 1
                        return count
                    }
                    _ = try await link.read(Bench.dynamic)
                    if number < 3 { throw BLEError(.busy, operation: "flaky", cause: "not yet") }
                }
                try await queue.run(flaky.retry())
                #expect(bench.writes.count == 3)
                try await queue.run(.read(Bench.dynamic))
                #expect(bench.writes.count == 4 && Self.connections(bench) == 1)
            }
        }
    }

    @Test func `authorizing before each attempt begins with the first of two where the second one has failed`()
        async throws
    {
        try await Bench.run { bench in
            // Its link stays up.
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let runs = Recorder<String>()
                let queue = Self.unlocking(session.queue, runs, failingIn: 2)
                let value = try await queue.run(Self.read.retry())
                #expect(Array(value) == [1, 2, 3] && runs.all == ["unlock", "key", "unlock", "key"])
            }
        }
    }

    @Test func `authorizing on a session's next link begins with the first of two where the second one has failed`()
        async throws
    {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let runs = Recorder<String>()
                let flow = CommandBlock<[UInt8]>("flow") { context in
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    return try await context.resuming { Array(try await context.read(Bench.readable)) }
                }
                let value = try await Self.unlocking(session.queue, runs, failingIn: 4).run(flow)
                #expect(value == [1, 2, 3])
                #expect(runs.all == ["unlock", "key", "unlock", "key", "unlock", "key"])
            }
        }
    }

    /// Authorizes before each command in two steps, and fails in one of all that it takes.
    private static func unlocking(
        _ queue: CommandQueue,
        _ runs: Recorder<String>,
        failingIn step: Int
    ) -> CommandQueue {
        queue
            .authorizing(.beforeEachCommand) { _ in runs.add("unlock") }
            .authorizing(.beforeEachCommand) { _ in
                runs.add("key")
                if runs.all.count == step { throw BLEError(.busy, operation: "key", cause: "not yet") }
            }
    }

    @Test func `an authorization that is tried again by itself doesn't authorize itself`() async throws {
        try await Bench.run(serve: DecoratorTests.guarded) { bench in
            try await bench.peripheral.withQueue { queue in
                let attempts = Mutex(0)
                let admit = CommandBlock.authorize { link in
                    let number = attempts.withLock { count in
                        count += 1
                        return count
                    }
                    try await link.write(number < 3 ? [0] : DecoratorTests.key, to: Bench.dynamic)
                }
                let queue = queue.authorizing(.beforeEachCommand, with: admit.retry()).connecting()
                let value = try await queue.run(.read(Bench.dynamic))
                #expect(Array(value) == [42] && attempts.withLock { $0 } == 3)
            }
        }
    }

    @Test func `a decorator of one's own keeps its place, and what it runs again is prepared again`() async throws {
        struct Twice: CommandQueue.Decorator {
            let log: Recorder<String>
            func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
                log.add("begin")
                do { return try await command.run(in: context) } catch {
                    log.add("again")
                    return try await command.run(in: context)
                }
            }
        }
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                for isInside in [true, false] {
                    let log = Recorder<String>()
                    try await queue.run(.disconnect)
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    let decorated =
                        isInside
                        ? queue.connecting().retrying().decorated(by: Twice(log: log))
                        : queue.decorated(by: Twice(log: log)).connecting()
                    try await decorated.run(Self.read)
                    #expect(log.all == ["begin", "again"])
                }
            }
            #expect(Self.connections(bench) == 4)
        }
    }

    @Test func `without connecting a lost link ends the attempts at once, and says what to do`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.run(.connect)
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                let before = bench.time.now
                let error = await bleError { try await queue.run(Self.read.retry()) }
                #expect(error?.code == .disconnected && bench.time.now - before < .seconds(1))
                let next = await bleError { try await queue.run(Self.read.retry()) }
                #expect(next?.remedy.contains("queue.connecting()") == true && bench.time.now - before < .seconds(1))
            }
        }
    }

    @Test(arguments: [false, true])
    func `who is asked whether another attempt is worthwhile is not told that a lost link is final`(isOfSession: Bool)
        async throws
    {
        try await Bench.run { bench in
            let isPassing: @Sendable (any Error) -> Bool = { ($0 as? BLEError)?.isFinal != true }
            let policy = RetryPolicy.constant(.seconds(10), attempts: 2)
            let work: @Sendable (CommandQueue) async throws -> Void = { queue in
                for fault in [Fault.dropLink(insteadOf: .readRequests), .swallow(.readResponses).times(1)] {
                    bench.air.faults.add(fault)
                    let first = try await queue.run(Self.read.retry(policy, when: isPassing))
                    bench.air.faults.add(fault)
                    let second = try await queue.retrying(policy, when: isPassing).run(Self.read)
                    #expect(Array(first) == [1, 2, 3] && Array(second) == [1, 2, 3])
                }
                // What is final with another link, too, is not tried again.
                let before = bench.time.now
                let missing = CommandBlock.read(BluetoothUUID(0xAFFF)).retry(policy, when: isPassing)
                #expect(await bleError { try await queue.run(missing) }?.code == .notFound)
                #expect(bench.time.now - before < .seconds(10))
            }
            if isOfSession {
                try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                    try await session.ready()
                    try await work(session.queue)
                }
            } else {
                try await bench.peripheral.withQueue { queue in try await work(queue.connecting()) }
            }
        }
    }

    // MARK: - The adapter

    @Test func `an adapter that is off is waited for, within the time limit of connecting`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.powerOff()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.connecting(timeout: .seconds(30)).run(Self.read) }
                    try await bench.time.sleep(for: .seconds(20))
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
                #expect(bench.time.now < .seconds(22))
            }
        }
    }

    @Test(arguments: [AdapterInfo.State.poweredOff, .blocked, .absent])
    func `an adapter that stays away is what the command fails with, at the limit`(state: AdapterInfo.State)
        async throws
    {
        try await Bench.run { bench in
            switch state {
            case .blocked: bench.centralAdapter.block()
            case .absent: bench.centralAdapter.unplug()
            default: bench.centralAdapter.powerOff()
            }
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting(timeout: .seconds(12)).run(Self.read) }
                let codes: [AdapterInfo.State: BLEError.Code] = [
                    .poweredOff: .adapterPoweredOff, .blocked: .adapterBlocked, .absent: .adapterNotFound,
                ]
                #expect(error?.code == codes[state] && error?.remedy.isEmpty == false)
                #expect(error?.elapsed == .seconds(12) && bench.time.now == .seconds(12))
                // It costs an attempt like any other failure.
                let again = await bleError {
                    try await queue.connecting(timeout: .seconds(4)).run(
                        Self.read.retry(.constant(.seconds(1), attempts: 1))
                    )
                }
                #expect(again?.code == codes[state] && bench.time.now == .seconds(21))
            }
        }
    }

    @Test func `waiting for the adapter ends with the task`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.powerOff()
            try await bench.peripheral.withQueue { queue in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await queue.connecting().run(Self.read) }
                    }
                    try? await bench.time.sleep(for: .seconds(3))
                    group.cancelAll()
                }
                #expect(bench.time.now == .seconds(3))
            }
        }
    }
}
