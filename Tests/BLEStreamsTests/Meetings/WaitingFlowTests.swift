import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// Flows that wait for their turn behind another one, which is cancelled, loses its link, or ends with the program.
@Suite(.timeLimit(.minutes(10))) struct WaitingFlowTests {
    private static let endings: [CommandQueue.LinkAfterCommand] = [
        .stay, .disconnect, .disconnectWhenIdle(.seconds(1)),
    ]

    @Test(arguments: 0..<40)
    func `a composite command that is cancelled while it connects or authorizes lets the next flow begin`(
        tenths: Int
    ) async throws {
        try await Bench.run(seed: UInt64(tenths), serve: DecoratorTests.guarded) { bench in
            if tenths.isMultiple(of: 2) { bench.air.faults.add(.refuseConnections(2)) }
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(timeout: .seconds(5), then: Self.endings[tenths % 3])
                    .authorizing { link in
                        try await bench.time.sleep(for: .seconds(1))
                        try await link.write(DecoratorTests.key, to: Bench.dynamic)
                    }
                let read = CommandBlock("read") { _ = try await $0.read(Bench.dynamic) }
                let composite = CommandBlock<Void>.group("both", read, read)
                    .retry(.constant(.milliseconds(500), attempts: 5)).timeout(.seconds(20))
                let first = queue.enqueue(composite)
                let heard = Recorder<String>()
                async let flow: Void = queue.run(
                    FlowEventTests.Hearing(heard: heard, count: 2) { context in
                        let value = try await context.read(Bench.dynamic)
                        #expect(value.bytes == [42])
                    },
                    replacing: .activeFlow
                )
                try await bench.time.sleep(for: .milliseconds(100 * tenths))
                first.cancel()
                let before = bench.time.now
                _ = try? await first.value
                // An authorizing that was cut off has its link ended.
                #expect(bench.time.now - before < .milliseconds(100))
                try await flow
                #expect(heard.all == ["connected", "ready to write"])
                let secret = try await queue.run(.read(Bench.dynamic))
                #expect(secret.bytes == [42])
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    // MARK: - A device with firmware and records

    private static func run(
        _ update: UpdateDevice,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        var description = update.description
        description.services += RecordDevice.description.services
        try await Bench.run(
            description: description,
            serve: { server, bench in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await update.live(server, bench) }
                    group.addTask { try await RecordDevice.live(Recorder())(server, bench) }
                    try await group.waitForAll()
                }
            },
            body
        )
    }

    private static func flow(_ method: Int, attempts: Int = 1) throws -> FirmwareUpdateFlow {
        let options = FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)
        return FirmwareUpdateFlow(
            try UpdateDevice.firmware(250_000),
            over: method == 0 ? .plain() : .mcumgr(options),
            resume: .constant(.seconds(1), attempts: attempts)
        )
    }

    /// What ends an update, or interrupts it.
    private enum Incident: CaseIterable { case cancellation, loss, losses }

    @Test(arguments: [0, 1], Incident.allCases)
    private func `synchronizations that wait for an update come behind it, however it ends`(
        method: Int,
        incident: Incident
    ) async throws {
        let update = try Self.flow(method)
        try await Self.run(UpdateDevice()) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let logs = [Recorder<Int>(), Recorder()]
                let first = session.queue.enqueue(update)
                let waiting = (0...1).map { session.queue.enqueue(FlowTests.synchronization($0, logs[$0])) }
                try await session.ready()
                try await bench.time.sleep(for: .seconds(3))
                switch incident {
                case .cancellation: first.cancel()
                case .loss: bench.air.faults.add(.outOfRange(lasting: .seconds(20)))
                case .losses: bench.air.faults.add(.loseLinks(every: .seconds(6)))
                }
                do {
                    try await first.value
                    #expect(incident != .cancellation)
                } catch {
                    #expect(error is CancellationError && incident == .cancellation)
                }
                for (handle, log) in zip(waiting, logs) {
                    let count = try await handle.value
                    #expect(count == 200 && log.all == Array(0..<200))
                }
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    /// The link is lost while the one flow ends and the other one begins, and later on.
    @Test(arguments: [0, 1], 0..<6)
    func `behind an update that replaces a synchronization, the next synchronization goes on where that one was`(
        method: Int,
        tenths: Int
    ) async throws {
        // Two losses may come before the first progress.
        let (device, update) = (UpdateDevice(), try Self.flow(method, attempts: 2))
        try await Self.run(device) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                let (log, rest) = (Recorder<Int>(), Recorder<Int>())
                async let former = bleError {
                    _ = try await session.queue.run(FlowTests.synchronization(1, log), replacing: .activeFlow)
                }
                try await bench.time.sleep(for: .milliseconds(150 + 100 * tenths))
                bench.air.faults.add(.dropLink(after: Duration.milliseconds(20 * tenths)))
                bench.air.faults.add(.loseLinks(every: .seconds(6)))
                try await session.queue.run(update, replacing: .activeFlow)
                let error = await former
                #expect(error?.code == .ended && log.all.count < 200)
                let last = log.all.last
                _ = try await session.queue.run(
                    FlowTests.synchronization(1, after: last, rest),
                    replacing: .activeFlow
                )
                #expect(log.all + rest.all == Array(0..<200))
                #expect(session.queue.activeFlow == nil)
                if method == 0 { #expect(device.plain.image == update.image.bytes) }
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test(arguments: [0, 1])
    func `a program that ends amid an update goes on with it, and with what waited, in its next life`(method: Int)
        async throws
    {
        let (device, update) = (UpdateDevice(), try Self.flow(method))
        try await Self.run(device) { bench in
            let store = PeerStore.inMemory()
            let log = Recorder<Int>()
            for life in 0..<3 {
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await central.withFleet { fleet in
                    var plan = Session.Plan(bench.peripheral)
                    plan.isKept = true
                    let session = try #require(try life == 0 ? fleet.add(plan) : fleet.restore().first)
                    let first = session.queue.enqueue(update)
                    let records = session.queue.enqueue(FlowTests.synchronization(1, after: log.all.last, log))
                    try await session.ready()
                    try await bench.time.sleep(for: .seconds(3))
                    switch life {
                    case 0: break
                    case 1:
                        // Then the program ends amid the records.
                        first.cancel()
                        try await bench.time.sleep(for: .milliseconds(700))
                        #expect((1..<200).contains(log.all.count))
                    default:
                        try await first.value
                        _ = try await records.value
                    }
                }
            }
            #expect(log.all == Array(0..<200))
            if method == 0 { #expect(device.plain.image == update.image.bytes) }
        }
    }
}
