import BLESimulator
import BLEStreams
import Testing

/// What a command is told whose limit passes before it could begin its work.
@Suite(.timeLimit(.minutes(10))) struct DelayedCommandTests {
    private static let read = CommandBlock.read(Bench.readable)

    @Test func `a limit that passes while a session has no link says so`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                bench.air.faults.add(.outOfRange())
                try await bench.time.sleep(for: .seconds(5))
                let (queue, limit) = (session.queue, Duration.seconds(5))
                let errors = [
                    await bleError { try await queue.run(Self.read, deadline: limit) },
                    await bleError { _ = try await queue.enqueue(Self.read, deadline: limit).value },
                    await bleError { try await queue.timingOut(after: limit).connecting().run(Self.read) },
                    await bleError { try await queue.run(Self.read.retry().timeout(limit)) },
                ]
                for error in errors {
                    #expect(error?.code == .timedOut && error?.operation == "read A001")
                    #expect(error?.cause.contains("the session was not ready") == true, "\(error as Any)")
                    #expect(error?.cause.contains("it is connecting") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func `a limit that passes while another user has a session's link says so`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await bench.peripheral.withLink { link in
                            try await link.exclusively { _ in try await bench.time.sleep(for: .seconds(60)) }
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    let error = await bleError { try await session.queue.run(Self.read, deadline: .seconds(5)) }
                    #expect(error?.code == .timedOut && error?.operation == "read A001")
                    #expect(error?.cause.contains("exclusive use") == true, "\(error as Any)")
                    // A command that works is its own delay.
                    try await group.waitForAll()
                    let long = CommandBlock<Void>("long") { _ in try await bench.time.sleep(for: .seconds(60)) }
                    let working = await bleError { try await session.queue.run(long, deadline: .seconds(5)) }
                    #expect(working?.cause.contains("the command did not end") == true, "\(working as Any)")
                }
            }
        }
    }

    @Test func `a deadline that passes while nobody runs the session says so`() async throws {
        try await Bench.run { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral))
            let queue = session.queue
            let enqueued = queue.enqueue(Self.read, deadline: .seconds(5))
            let errors = [
                await bleError { _ = try await enqueued.value },
                await bleError { try await queue.run(Self.read, deadline: .seconds(5)) },
            ]
            for error in errors {
                #expect(error?.code == .timedOut && error?.operation == "read A001")
                #expect(error?.cause.contains("it is not being run") == true, "\(error as Any)")
                #expect(error?.remedy.contains("Session.run()") == true, "\(error as Any)")
            }
            #expect(session.state == .disconnected(.initial))
        }
    }

    @Test func `a deadline that passes while a queue connects says so, and names the adapter`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { plain in
                let queue = plain.connecting(timeout: .seconds(60))
                bench.centralAdapter.powerOff()
                let off = await bleError { try await queue.run(Self.read, deadline: .seconds(5)) }
                #expect(off?.code == .timedOut && off?.operation == "read A001")
                #expect(off?.cause.contains("the adapter is switched off") == true, "\(off as Any)")
                #expect(off?.remedy.contains("Central.setPowered(true)") == true, "\(off as Any)")
                bench.centralAdapter.powerOn()
                bench.air.faults.add(.ignoreConnections)
                let away = await bleError { try await queue.run(Self.read, deadline: .seconds(5)) }
                #expect(away?.cause.contains("there was no link") == true, "\(away as Any)")
            }
        }
    }
}
