import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// Flows of one device that are run in several queues, as by parts of a program that don't know of each other.
@Suite(.timeLimit(.minutes(10))) struct FlowTurnTests {
    private static func run(
        _ body: @escaping @Sendable (Bench, CommandQueue, CommandQueue) async throws -> Void
    ) async throws {
        try await Bench.run(description: RecordDevice.description, serve: RecordDevice.live(Recorder())) { bench in
            try await bench.peripheral.withQueue { one in
                try await bench.peripheral.withQueue { two in
                    try await body(bench, one.connecting(), two.connecting())
                }
            }
        }
    }

    private static func records(_ log: Recorder<Int>, in bench: Bench) async throws {
        while log.all.count < 30 { try await bench.time.sleep(for: .milliseconds(5)) }
    }

    @Test(arguments: [0, 1]) func `two synchronizations get their own records, one after the other`(
        transport: Int
    ) async throws {
        try await Self.run { bench, one, two in
            let (first, second) = (Recorder<Int>(), Recorder<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let count = try await one.run(FlowTests.synchronization(transport, first))
                    #expect(count == 200 && second.all.isEmpty)
                }
                try await Self.records(first, in: bench)
                let flow = FlowTests.synchronization(transport, after: 9, second)
                let count = try await two.run(flow)
                #expect(count == 190 && first.all.count == 200)
                try await group.waitForAll()
            }
            #expect(first.all == Array(0..<200))
            #expect(second.all == Array(10..<200))
        }
    }

    @Test func `one that waits can be cancelled, and the next one has its turn`() async throws {
        try await Self.run { bench, one, two in
            let (first, second, third) = (Recorder<Int>(), Recorder<Int>(), Recorder<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await one.run(FlowTests.synchronization(1, first)) }
                try await Self.records(first, in: bench)
                let waiting = two.enqueue(FlowTests.synchronization(1, second))
                let next = two.enqueue(FlowTests.synchronization(1, third))
                try await bench.time.sleep(for: .milliseconds(100))
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
                let count = try await next.value
                #expect(count == 200 && first.all.count == 200 && second.all.isEmpty)
                try await group.waitForAll()
            }
            #expect(third.all == Array(0..<200))
        }
    }

    @Test(arguments: [0, 1]) func `two synchronizations whose links are lost get their own records`(
        transport: Int
    ) async throws {
        try await Self.run { bench, one, two in
            bench.air.faults.add(.dropLink(after: 50, .notifications))
            bench.air.faults.add(.dropLink(after: 120, .notifications))
            bench.air.faults.add(.dropLink(after: 250, .notifications))
            let (first, second) = (Recorder<Int>(), Recorder<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let count = try await one.run(FlowTests.synchronization(transport, first))
                    #expect(count == 200)
                }
                group.addTask {
                    let count = try await two.run(FlowTests.synchronization(transport, after: 9, second))
                    #expect(count == 190)
                }
                try await group.waitForAll()
            }
            #expect(first.all == Array(0..<200))
            #expect(second.all == Array(10..<200))
        }
    }

    @Test(arguments: [0, 1]) func `a flow that has lost its link stores nothing again that its other run has stored`(
        transport: Int
    ) async throws {
        try await Self.run { bench, one, two in
            bench.air.faults.add(.dropLink(after: 50, .notifications))
            let log = Recorder<Int>()
            let flow = FlowTests.synchronization(transport, log)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await one.run(flow) }
                try await Self.records(log, in: bench)
                // It has the next link, while the first run still pauses.
                group.addTask { _ = try await two.run(flow) }
                try await group.waitForAll()
            }
            #expect(log.all == Array(0..<200))
        }
    }

    @Test(arguments: [false, true])
    func `a run whose time is up says that it has waited for what another one has received`(
        isDeadline: Bool
    ) async throws {
        try await Self.run { bench, one, two in
            bench.air.faults.add(.dropLink(after: 50, .notifications))
            let log = Recorder<Int>()
            let flow = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: nil) { record in
                if record.number == 5 { try await bench.time.sleep(for: .seconds(300)) }
                log.add(record.number)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await one.run(flow) }
                try await bench.time.sleep(for: .seconds(10))
                let error = await bleError {
                    if isDeadline {
                        _ = try await two.run(flow, deadline: .seconds(20))
                    } else {
                        _ = try await two.run(flow.timeout(.seconds(20)))
                    }
                }
                #expect(error?.code == .timedOut && error?.cause.contains("another run") == true)
                #expect(error?.remedy.contains("range") == false && log.all.count == 5)
                // Nothing is said to wait that doesn't.
                let later = await bleError {
                    try await two.run(
                        CommandBlock("sleep") { _ in try await bench.time.sleep(for: .seconds(9)) },
                        deadline: .seconds(1)
                    )
                }
                #expect(later?.cause.contains("another run") == false)
                try await group.waitForAll()
            }
            #expect(log.all == Array(0..<200))
        }
    }

    @Test(arguments: [0, 1]) func `a device that a session finds under another address goes on where it was`(
        transport: Int
    ) async throws {
        let serve = RecordDevice.live(Recorder())
        try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
            let log = Recorder<Int>()
            try await bench.central.withSession(Session.Plan(finding: .name("Records"))) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await session.ready()
                    bench.air.faults.add(.dropLink(after: 50, .notifications))
                    let flow = session.queue.enqueue(FlowTests.synchronization(transport, log))
                    _ = try await session.states.first { $0.state.kind != .ready }
                    await session.disconnect()
                    bench.peripheralAdapter.powerOff()
                    let other = bench.air.adapter()
                    group.addTask {
                        try await RecordDevice.description.run(on: .radio(other)) { try await serve($0, bench) }
                    }
                    try session.search()
                    let count = try await flow.value
                    #expect(count == 200 && session.peripheral?.address == other.address)
                    group.cancelAll()
                }
            }
            #expect(log.all == Array(0..<200))
        }
    }

    @Test(arguments: [false, true])
    func `a device goes on where it was, whichever of its addresses it is named by`(hides: Bool) async throws {
        let serve = RecordDevice.live(Recorder())
        try await Bench.run { bench in
            // By its octets it is rather a private address.
            let address = BluetoothAddress(rawValue: 0x4C00_0000_0001, kind: .public)
            let adapter = bench.air.adapter(address: hides ? nil : address)
            if hides { try await Central.open(.radio(adapter)).setPrivacy(true, interrupting: true) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await RecordDevice.description.run(on: adapter) { try await serve($0, bench) }
                }
                // Without the kind of its address; or as it was found, before it paired.
                let found = try bench.central.peripheral("\(adapter.addressOnAir)")
                if hides { try await found.withLink { link in try await link.pair() } }
                let log = Recorder<Int>()
                let flow = FlowTests.synchronization(1, log)
                for device in [found, bench.central.peripheral(adapter.address)] {
                    try await device.withQueue { queue in _ = try await queue.connecting().run(flow) }
                }
                #expect(log.all == Array(0..<200))
                group.cancelAll()
            }
        }
    }

    @Test func `a device that has paired since it was first asked goes on where it was`() async throws {
        let serve = RecordDevice.live(Recorder())
        try await Bench.run { bench in
            let adapter = bench.air.adapter()
            try await Central.open(.radio(adapter)).setPrivacy(true, interrupting: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await RecordDevice.description.run(on: adapter) { try await serve($0, bench) }
                }
                let found = bench.central.peripheral(adapter.addressOnAir)
                let log = Recorder<Int>()
                let flow = FlowTests.synchronization(1, log)
                try await found.withQueue { queue in _ = try await queue.connecting().run(flow) }
                // Its links go by its identity from now on.
                try await found.withLink { link in try await link.pair() }
                for device in [found, bench.central.peripheral(adapter.address)] {
                    try await device.withQueue { queue in _ = try await queue.connecting().run(flow) }
                }
                #expect(log.all == Array(0..<200))
                group.cancelAll()
            }
        }
    }
}
