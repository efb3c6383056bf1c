import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// Each flow, cancelled at every step: after each of the PDUs that it sends or gets.
@Suite(.timeLimit(.minutes(10))) struct FlowCancellationTests {
    /// Runs work until so many PDUs have been on air, and cancels it; then the queue goes on, and nothing is switched
    /// on.
    static func trial(
        _ description: LocalPeripheral,
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void,
        cancelAfter count: Int,
        then check: @escaping @Sendable (CommandQueue) async throws -> Void = { _ in },
        _ work: @escaping @Sendable (CommandQueue) async throws -> Void
    ) async throws -> Bool {
        let ends = Recorder<Bool>()
        try await Bench.run(description: description, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                await withTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        do {
                            try await work(queue)
                            return false
                        } catch is CancellationError {
                            return true
                        } catch {
                            Issue.record("after \(count) PDUs: \(error)")
                            return true
                        }
                    }
                    group.addTask {
                        // Looked at often enough to see each PDU, since each takes a connection event.
                        while bench.air.trace.filter({ $0.pdu != nil }).count < count, !Task.isCancelled {
                            try? await bench.time.sleep(for: .milliseconds(15))
                        }
                        return true
                    }
                    let first = await group.next() ?? true
                    let before = bench.time.now
                    group.cancelAll()
                    let second = await group.next() ?? true
                    ends.add(first && second)
                    // It returned at once; a configuration writes back what it has written before.
                    #expect(bench.time.now - before < .seconds(1))
                }
                try await queue.run(.block("look") { try await $0.expectNoSubscriptions() }, deadline: .seconds(60))
                try await check(queue)
            }
        }
        return ends.all.first ?? false
    }

    @Test func `connecting does nothing on a link that is up, also in a cancelled task`() async throws {
        try await Bench.run { bench in
            let isDone = Recorder<Bool>()
            let flow = CommandBlock<Void>("flow") { context in
                try await context.connect()
                try? await bench.time.sleep(for: .seconds(60))
                // What cleans up behind it may connect first.
                try await context.connect()
                isDone.add(Task.isCancelled)
            }
            try await bench.peripheral.withQueue { queue in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try? await queue.run(flow) }
                    try? await bench.time.sleep(for: .seconds(2))
                    group.cancelAll()
                }
            }
            #expect(isDone.all == [true])
        }
    }

    /// Cancels after each number of PDUs until the work is done before.
    static func everywhere(_ step: Int = 1, _ trial: (Int) async throws -> Bool) async throws {
        var (count, trials) = (0, 0)
        while try await attempt(count, trial) {
            count += step
            trials += 1
            try #require(trials < 400)
        }
        #expect(trials > 5)
    }

    /// The trial, which says after how many PDUs where it fails.
    private static func attempt(_ count: Int, _ trial: (Int) async throws -> Bool) async throws -> Bool {
        do { return try await trial(count) } catch {
            Issue.record("after \(count) PDUs: \(error)")
            return false
        }
    }

    @Test(arguments: [0, 1]) func `an update`(method: Int) async throws {
        let image = try UpdateDevice.firmware(4000)
        let flow = FirmwareUpdateFlow(image, over: method == 0 ? .plain() : .mcumgr())
        try await Self.everywhere(3) { count in
            let device = UpdateDevice(window: 1024)
            return try await Self.trial(
                device.description,
                serve: { try await device.live($0, $1) },
                cancelAfter: count
            ) { queue in
                // Again, to its end, on what is there.
                try await queue.run(flow)
                #expect((method == 0 ? device.plain.image : device.mcumgr.runningImage) == image.bytes)
            } _: { queue in
                try await queue.run(flow)
            }
        }
    }

    @Test(arguments: [0, 1]) func `a synchronization`(transport: Int) async throws {
        try await Self.everywhere(7) { count in
            let log = Recorder<Int>()
            return try await Self.trial(
                RecordDevice.description,
                serve: RecordDevice.live(Recorder()),
                cancelAfter: count
            ) { queue in
                // What was stored is a beginning without holes; the rest comes next time.
                #expect(log.all == Array(0..<log.all.count))
                try await queue.run(FlowTests.synchronization(transport, after: log.all.last, log))
                #expect(log.all == Array(0..<200))
            } _: { queue in
                try await queue.run(FlowTests.synchronization(transport, log))
            }
        }
    }

    @Test func `a configuration`() async throws {
        try await Self.everywhere { count in
            let done = Recorder<Bool>()
            return try await Self.trial(
                RecordDevice.description,
                serve: RecordDevice.live(Recorder()),
                cancelAfter: count
            ) { queue in
                // All or nothing.
                let values = try await FlowTests().values(queue)
                #expect(values == (done.all.isEmpty ? [[0], [0], [0], [0]] : [[1], [2], [3], [4]]))
            } _: { queue in
                try await queue.run(ConfigurationFlow(FlowTests.wishes))
                done.add(true)
            }
        }
    }

    @Test func `a pairing`() async throws {
        try await Self.everywhere { count in
            try await Self.trial(
                RecordDevice.description,
                serve: RecordDevice.live(Recorder()),
                cancelAfter: count
            ) { queue in
                // Nobody pairs: the read after it is refused, which only a pairing that wasn't cancelled comes to.
                do {
                    try await queue.run(
                        PairingFlow(reading: RecordDevice.secret) { _ = try await $0.read(RecordDevice.setting[0]) }
                    )
                } catch let error as BLEError where error.code == .attributeError {}
            }
        }
    }
}
