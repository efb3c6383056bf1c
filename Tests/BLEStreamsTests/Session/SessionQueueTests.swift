import BLEDevices
import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Commands and flows on the link of a session.
@Suite(.timeLimit(.minutes(10))) struct SessionQueueTests {
    private static let read = CommandBlock.read(Bench.readable)

    private func onSession(
        subscribed: Bool = true,
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void = Bench.sendForEver,
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        try await Bench.run(serve: serve) { bench in
            let plan = Session.Plan(bench.peripheral)
            try await bench.central.withSession(subscribed ? plan.subscribing(to: Bench.notifying) : plan) { session in
                try await body(bench, session)
            }
        }
    }

    @Test(arguments: [0, 1])
    func `an update goes on over a lost link, and the session's notifications behind a gap`(method: Int) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(100_000))
        var description = device.description
        description.services.append(
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(Bench.notifying, [.notify]) }
        )
        try await Bench.run(
            description: description,
            serve: { server, bench in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await device.live(server, bench) }
                    group.addTask {
                        var number: UInt32 = 0
                        while true {
                            try await server.notify(number.octets, of: Bench.notifying)
                            number += 1
                            try await bench.time.sleep(for: .milliseconds(100))
                        }
                    }
                    try await group.waitForAll()
                }
            },
            { bench in
                let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                let (numbers, gaps) = (Recorder<UInt32>(), Recorder<StreamGap>())
                let before = Recorder<Int>()
                try await bench.central.withSession(plan) { session in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            for try await item in session.notifications(of: Bench.notifying).withGaps() {
                                switch item {
                                case .value(let value): numbers.add(UInt32(octets: value))
                                case .gap(let gap):
                                    before.add(numbers.all.count)
                                    gaps.add(gap)
                                }
                            }
                        }
                        try await session.ready()
                        bench.air.faults.add(.dropLink(after: 90, .writeCommands))
                        let update = FirmwareUpdateFlow(
                            image,
                            over: method == 0 ? .plain() : .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload))
                        )
                        try await session.queue.run(update)
                        let after = numbers.all.count - (before.all.first ?? 0)
                        #expect(after > 5, "values came while the update went on: \(after)")
                        group.cancelAll()
                        while await group.nextResult() != nil {}
                    }
                }
                if method == 0 { #expect(device.plain.image == image.bytes) }
                let reason = (gaps.all.first?.reason as? BLEError)?.reason
                #expect(gaps.all.count == 1 && reason?.kind == .supervisionTimeout)
                #expect((before.all.first ?? 0) > 5)
                // In order, and none missing but in the gap.
                let steps = zip(numbers.all, numbers.all.dropFirst()).map { Int($1) - Int($0) }
                #expect(steps.filter { $0 != 1 }.count <= 1 && steps.allSatisfy { $0 > 0 }, "\(steps)")
                let links = bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
                #expect(links == 2)
            }
        )
    }

    @Test func `commands wait until the session is ready, and have its link for themselves`() async throws {
        try await onSession { bench, session in
            let handle = session.queue.enqueue(Self.read)
            let value = try await session.queue.run(Self.read)
            #expect(Array(value) == [1, 2, 3] && session.state.isReady)
            try await handle.expect([1, 2, 3])
            let log = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await session.queue.run(
                        CommandBlock("long") { _ in
                            try await bench.time.sleep(for: .seconds(60))
                            log.add("command")
                        }
                    )
                }
                try await bench.time.sleep(for: .seconds(1))
                group.addTask {
                    _ = try await session.read(Bench.readable)
                    log.add("read")
                }
                group.addTask {
                    try await session.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                    log.add("link")
                }
                // What is subscribed to goes on.
                _ = try await session.notifications(of: Bench.notifying).collect(20)
                log.add("values")
                try await group.waitForAll()
            }
            #expect(log.all.prefix(2) == ["values", "command"] && log.all.count == 4)
        }
    }

    @Test func `a subscription that comes while a command runs waits for it, and is not refused`() async throws {
        try await onSession(subscribed: false) { bench, session in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await session.queue.run(
                        CommandBlock("long") { _ in try await bench.time.sleep(for: .seconds(60)) }
                    )
                }
                try await bench.time.sleep(for: .seconds(5))
                _ = try await session.notifications(of: Bench.notifying).first()
                #expect(bench.time.now >= .seconds(60))
                try await group.waitForAll()
            }
            #expect(session.state.isReady)
        }
    }

    @Test func `a retried command goes on on the next link, and one that isn't says that its link was lost`()
        async throws
    {
        try await onSession { bench, session in
            try await session.ready()
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            let lost = await bleError { try await session.queue.run(Self.read) }
            #expect(lost?.code == .disconnected)
            // The session is on its way: the next one waits for it.
            try await session.queue.run(Self.read)
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            let value = try await session.queue.run(Self.read.retry())
            #expect(Array(value) == [1, 2, 3])
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            try await session.queue.retrying().timingOut(after: .seconds(20)).run(Self.read)
            #expect(bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count == 4)
        }
    }

    @Test func `authorizing is done once on each link of the session`() async throws {
        try await onSession(subscribed: false, serve: DecoratorTests.guarded) { bench, session in
            let queue = session.queue.authorizing { try await $0.write(DecoratorTests.key, to: Bench.dynamic) }
            for _ in 0..<2 { try await queue.run(.read(Bench.dynamic)) }
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            try await queue.run(CommandBlock.read(Bench.dynamic).retry())
            #expect(bench.writes.count == 2)
        }
    }

    @Test func `connecting and disconnecting are the session's, and the error says so`() async throws {
        try await onSession { _, session in
            for command in [CommandBlock.connect, .disconnect] {
                let error = await bleError { try await session.queue.run(command) }
                #expect(error?.code == .notSupported && error?.remedy.contains("session.queue") == true)
            }
            #expect(session.state.isReady)
        }
    }

    @Test func `what waits for the session can be limited, by connecting and by a deadline`() async throws {
        try await onSession { bench, session in
            try await session.ready()
            bench.air.faults.add(.outOfRange())
            try await bench.time.sleep(for: .seconds(30))
            let before = bench.time.now
            let error = await bleError { try await session.queue.run(Self.read, deadline: .seconds(10)) }
            #expect(error?.code == .timedOut && bench.time.now - before == .seconds(10))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await session.queue.run(Self.read) }
                }
                try? await bench.time.sleep(for: .seconds(5))
                group.cancelAll()
            }
            #expect(bench.time.now - before == .seconds(15))
            let queue = session.queue.connecting(timeout: .seconds(5))
            let tried = await bleError { try await queue.run(Self.read.retry(.constant(.seconds(1), attempts: 2))) }
            #expect(tried?.code == .timedOut && tried?.operation == "session")
            #expect(bench.time.now - before == .seconds(32))
        }
    }

    @Test func `a time limit covers the wait for the session if connecting was added after it`() async throws {
        try await onSession { bench, session in
            try await session.ready()
            bench.air.faults.add(.outOfRange())
            try await bench.time.sleep(for: .seconds(30))
            let before = bench.time.now
            let queue = session.queue.timingOut(after: .seconds(5)).connecting(timeout: .seconds(20))
            let limited = await bleError { try await queue.run(Self.read, deadline: .seconds(60)) }
            #expect(limited?.code == .timedOut && limited?.operation == "read A001")
            #expect(bench.time.now - before == .seconds(5))
            // The other order limits the command only, and connecting has a limit of its own.
            let other = session.queue.connecting(timeout: .seconds(20)).timingOut(after: .seconds(5))
            let tried = await bleError { try await other.run(Self.read, deadline: .seconds(60)) }
            #expect(tried?.code == .timedOut && tried?.operation == "session")
            #expect(bench.time.now - before == .seconds(25))
        }
    }

    @Test func `what waits for a link that another user holds can be limited by connecting`() async throws {
        try await onSession { bench, session in
            try await session.ready()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await bench.peripheral.withLink { link in
                        try await link.exclusively { _ in try await bench.time.sleep(for: .seconds(60)) }
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                let before = bench.time.now
                let queue = session.queue.connecting(timeout: .seconds(5))
                let error = await bleError { try await queue.run(Self.read) }
                #expect(error?.code == .timedOut && error?.cause.contains("exclusive use") == true)
                #expect(bench.time.now - before == .seconds(5))
                // It has left nothing behind: the next one comes right behind the holder.
                try await session.queue.run(Self.read)
                let waited = bench.time.now - before
                #expect(waited >= .seconds(58) && waited <= .seconds(61))
                try await group.waitForAll()
            }
        }
    }

    @Test func `a command that would wait for itself is told so`() async throws {
        try await onSession { _, session in
            let error = await bleError {
                try await session.queue.run(CommandBlock("outer") { _ in _ = try await session.read(Bench.readable) })
            }
            #expect(error?.code == .deadlock && error?.operation == "read")
            let queued = await bleError {
                try await session.queue.run(CommandBlock("outer") { _ in _ = try await session.queue.run(Self.read) })
            }
            #expect(queued?.code == .deadlock)
            let stream = await bleError {
                try await session.queue.run(
                    CommandBlock("outer") { _ in _ = try await session.notifications(of: Bench.dynamic).first() }
                )
            }
            #expect(stream?.code == .deadlock)
            // What is on already goes on.
            try await session.queue.run(
                CommandBlock("outer") { _ in _ = try await session.notifications(of: Bench.notifying).first() }
            )
        }
    }

    @Test func `the end of the session ends its commands, and none come in behind it`() async throws {
        try await Bench.run { bench in
            let kept = Recorder<CommandQueue.Handle<Void>>()
            let session = try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                for name in ["a", "b"] {
                    kept.add(
                        session.queue.enqueue(
                            CommandBlock(name) { _ in try await bench.time.sleep(for: .seconds(600)) }
                        )
                    )
                }
                try await session.ready()
                try await bench.time.sleep(for: .seconds(1))
                return session
            }
            #expect(bench.time.now < .seconds(10) && bench.centralAdapter.activity.isIdle)
            for handle in kept.all { #expect(await bleError { try await handle.value }?.code == .ended) }
            #expect(await bleError { try await session.queue.run(Self.read) }?.code == .ended)
            #expect(await bleError { _ = try await session.queue.enqueue(Self.read).value }?.code == .ended)
        }
    }

    @Test func `a session that has failed fails its commands`() async throws {
        try await Bench.run { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.readOnly)
            try await bench.central.withSession(plan) { session in
                let error = await bleError { try await session.queue.run(Self.read) }
                #expect(error?.code == .notSupported)
            }
        }
    }

    @Test func `a queue that wants a link of its own beside a session is told to use the session's queue`() async throws
    {
        try await onSession { bench, session in
            try await session.ready()
            let queue = await bleError {
                _ = try await bench.peripheral.withQueue { try await $0.connecting().run(Self.read) }
            }
            #expect(queue?.code == .busy && queue?.remedy.contains("session.queue") == true)
        }
        // Once the session is over the peripheral is anybody's.
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { try await $0.ready() }
            _ = try await bench.peripheral.withQueue { try await $0.connecting().run(Self.read) }
        }
    }

    @Test func `one flow takes the place of another on a session too`() async throws {
        try await onSession { bench, session in
            let flows = session.queue
            let (first, second) = (Recorder<String>(), Recorder<String>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let flow = FlowEventTests.Hearing(heard: first, count: 100) { _ in }
                    #expect(await bleError { try await flows.run(flow, replacing: .activeFlow) }?.code == .ended)
                }
                try await bench.time.sleep(for: .seconds(5))
                try await flows.run(FlowEventTests.Hearing(heard: second, count: 2) { _ in }, replacing: .activeFlow)
                try await group.waitForAll()
            }
            #expect(first.all == second.all && second.all == ["connected", "ready to write"])
        }
    }
}
