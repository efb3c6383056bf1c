import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// What a caller is told whose time is over while it waits for a session.
@Suite(.timeLimit(.minutes(10))) struct UnreadySessionTests {
    @Test func `an adapter that is off is named, with what switches it on`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(1))
                let errors = [
                    await bleError { try await session.ready(timeout: .seconds(5)) },
                    await bleError { _ = try await session.read(Bench.readable, timeout: .seconds(5)) },
                    await bleError {
                        _ = try await session.queue.connecting(timeout: .seconds(5)).run(.read(Bench.readable))
                    },
                ]
                for error in errors {
                    #expect(error?.code == .timedOut && error?.operation == "session")
                    #expect(error?.cause.contains("the adapter is switched off") == true, "\(error as Any)")
                    #expect(error?.remedy.contains("Central.setPowered(true)") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func `the last failure is named, between the attempts and in the next one`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.limits.connect = .seconds(5)
            plan.reconnecting = .constant(.seconds(10))
            bench.air.faults.add(.ignoreConnections)
            try await bench.central.withSession(plan) { session in
                for (limit, state) in [(10, "waiting to reconnect"), (7, "connecting (attempt 2)")] {
                    let error = await bleError { try await session.ready(timeout: .seconds(limit)) }
                    #expect(error?.cause.contains("it is \(state)") == true, "\(error as Any)")
                    #expect(error?.cause.contains("did not accept a connection") == true, "\(error as Any)")
                    #expect(error?.remedy.contains("switched on, in range") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func `the remedy for a link that is lost while it is made is the session's`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = .constant(.seconds(5), attempts: 1)
            // The first one is the exchange of the MTU.
            bench.air.faults.add(.dropLink(insteadOf: .requests).always())
            try await bench.central.withSession(plan) { session in
                let waiting = await bleError { try await session.ready(timeout: .seconds(3)) }
                #expect(waiting?.cause.contains("the link ended") == true, "\(waiting as Any)")
                #expect(waiting?.remedy.contains("Wait: the session reconnects") == true, "\(waiting as Any)")
                // Nothing connects any more.
                let failed = await bleError { try await session.ready() }
                #expect(failed?.code == .disconnected && failed?.operation == "connect", "\(failed as Any)")
                #expect(failed?.remedy == "Call `Session.reset()` to begin again.", "\(failed as Any)")
            }
        }
    }

    @Test func `a session that the program has disconnected says so`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                await session.disconnect()
                let error = await bleError { try await session.ready(timeout: .seconds(5)) }
                #expect(error?.code == .timedOut)
                #expect(error?.cause.contains("the program has disconnected it") == true, "\(error as Any)")
                #expect(error?.remedy.contains("Session.connect()") == true, "\(error as Any)")
            }
        }
    }

    @Test func `a session whose first steps take long is said to prepare its link`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(
                Session.Plan(bench.peripheral).subscribing(to: Bench.notifying),
                initialise: { _ in try await bench.time.sleep(for: .seconds(20)) }
            ) { session in
                let error = await bleError { try await session.ready(timeout: .seconds(5)) }
                #expect(error?.code == .timedOut)
                #expect(error?.cause.contains("it is preparing its link (") == true, "\(error as Any)")
                #expect(error?.remedy.contains("first steps on the link") == true, "\(error as Any)")
            }
        }
    }

    @Test func `an operation whose turn comes while the next link is prepared waits until that is done`() async throws {
        try await Bench.run { bench in
            let prepared = Recorder<Duration>()
            try await bench.central.withSession(
                Session.Plan(bench.peripheral),
                initialise: { _ in
                    try await bench.time.sleep(for: .seconds(5))
                    prepared.add(bench.time.now)
                }
            ) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let pause = CommandBlock<Void>("pause") { _ in try await bench.time.sleep(for: .seconds(1)) }
                    let command = session.queue.enqueue(pause)
                    try await bench.time.sleep(for: .milliseconds(100))
                    group.addTask {
                        // It outlives its link, and keeps its turn.
                        try await session.withLink(for: .write, timeout: nil) { _ in
                            _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                            try await bench.time.sleep(for: .seconds(3))
                        }
                    }
                    try await bench.time.sleep(for: .milliseconds(100))
                    let links = try await session.withLink(for: .read, timeout: nil) { link in
                        try await link.expect(Bench.readable, reads: [1, 2, 3])
                        return prepared.all.count
                    }
                    #expect(links == 2 && session.state.isReady)
                    try await command.value
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a session whose link is being closed says so`() async throws {
        try await Bench.run { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                // So that switching the notifications off takes as long as it may.
                bench.air.faults.add(.delay(.responses, by: .seconds(5)))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await session.disconnect() }
                    try await bench.time.sleep(for: .milliseconds(100))
                    let error = await bleError { try await session.ready(timeout: .seconds(1)) }
                    #expect(error?.code == .timedOut)
                    #expect(error?.cause.contains("its link is ending") == true, "\(error as Any)")
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a session that nobody runs says so`() async throws {
        try await Bench.run { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral))
            let error = await bleError { try await session.ready(timeout: .seconds(5)) }
            #expect(error?.code == .timedOut)
            #expect(error?.cause.contains("it is not being run") == true, "\(error as Any)")
            #expect(error?.remedy.contains("Session.run()") == true, "\(error as Any)")
        }
    }

    @Test func `a command in the queue of a session that nobody runs can be cancelled, and has its deadline`()
        async throws
    {
        try await Bench.run { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral))
            let cancelled = session.queue.enqueue(.read(Bench.readable))
            let limited = session.queue.enqueue(.read(Bench.readable), deadline: .seconds(5))
            let waiting = session.queue.enqueue(.read(Bench.readable), deadline: .seconds(60))
            #expect(cancelled.cancel())
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            #expect(await bleError { _ = try await limited.value }?.code == .timedOut)
            #expect(bench.time.now == .seconds(5))
            let contents = try await session.queue.contents.first()
            #expect(contents.waiting.map(\.id) == [waiting.id])
            // What still waits runs with the session.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                #expect(try await waiting.value.bytes == [1, 2, 3])
                session.stop()
                try await group.waitForAll()
            }
        }
    }
}
