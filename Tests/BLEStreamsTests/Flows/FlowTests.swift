import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct FlowTests {
    static func synchronization(
        _ transport: Int,
        after last: Int? = nil,
        _ log: Recorder<Int>
    ) -> SynchronizationFlow {
        transport == 0
            ? SynchronizationFlow(
                over: PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records),
                after: last
            ) { log.add($0.number) }
            : SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: last) { log.add($0.number) }
    }

    func onQueue(
        _ acknowledged: Recorder<UInt32> = Recorder(),
        seed: UInt64 = 1,
        _ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void
    ) async throws {
        try await Bench.run(
            seed: seed,
            description: RecordDevice.description,
            serve: RecordDevice.live(acknowledged)
        ) { bench in
            try await bench.peripheral.withQueue { try await body(bench, $0.connecting()) }
        }
    }

    // MARK: - Synchronization

    @Test(arguments: [0, 1]) func `records come in order, without loss or repetition, through lost links`(
        transport: Int
    ) async throws {
        let acknowledged = Recorder<UInt32>()
        try await onQueue(acknowledged) { bench, queue in
            bench.air.faults.add(.dropLink(after: 50, .notifications))
            bench.air.faults.add(.dropLink(after: 120, .notifications))
            let log = Recorder<Int>()
            let count = try await queue.run(Self.synchronization(transport, after: 9, log))
            #expect(log.all == Array(10..<200) && count == 190)
            if transport == 0 { #expect(acknowledged.all.last == 199 && acknowledged.all == acknowledged.all.sorted()) }
            // Nothing new: nothing is fetched.
            let none = try await queue.run(Self.synchronization(transport, after: 199, log))
            #expect(none == 0 && log.all.count == 190)
        }
    }

    @Test func `a record that can't be stored ends the flow, and is not acknowledged`() async throws {
        let acknowledged = Recorder<UInt32>()
        try await onQueue(acknowledged) { bench, queue in
            let flow = SynchronizationFlow(
                over: PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records),
                after: nil,
                batch: 5
            ) { record in
                if record.number == 17 { throw BLEError(.systemFailure, operation: "store", cause: "the disk is full") }
            }
            #expect(await bleError { try await queue.run(flow) }?.cause == "the disk is full")
            #expect(acknowledged.all.last == 14)
        }
    }

    /// A device that begins a few records too early.
    struct RepeatingTransport: RecordTransport {
        func fetch(
            after last: Int?,
            in context: CommandContext,
            _ take: (DeviceRecord) async throws -> Void
        ) async throws {
            for number in [7, 8, 9, 10, 11, 11, 10, 12] { try await take(DeviceRecord(number: number, bytes: [])) }
        }

        func acknowledge(upTo last: Int, in context: CommandContext) async throws {}
    }

    @Test func `a record that comes again is stored once`() async throws {
        try await onQueue { _, queue in
            let log = Recorder<Int>()
            let flow = SynchronizationFlow(over: RepeatingTransport(), after: 9) { log.add($0.number) }
            let count = try await queue.run(flow)
            #expect(log.all == [10, 11, 12] && count == 3)
        }
    }

    /// A device with 20 records that is busy after each four.
    struct BusyTransport: RecordTransport {
        let requests: Recorder<Int?>

        func fetch(
            after last: Int?,
            in context: CommandContext,
            _ take: (DeviceRecord) async throws -> Void
        ) async throws {
            requests.add(last)
            let first = (last ?? -1) + 1
            for number in first..<20 {
                if number == first + 4 { throw BLEError(.timedOut, operation: "fetch", cause: "the device is busy") }
                try await take(DeviceRecord(number: number, bytes: []))
            }
        }

        func acknowledge(upTo last: Int, in context: CommandContext) async throws {}
    }

    @Test func `a synchronization that is retried goes on behind what it has stored`() async throws {
        try await onQueue { bench, queue in
            let (log, requests) = (Recorder<Int>(), Recorder<Int?>())
            let flow = SynchronizationFlow(over: BusyTransport(requests: requests), after: nil) { log.add($0.number) }
            let count = try await queue.retrying(.exponential(attempts: 8)).run(flow)
            #expect(log.all == Array(0..<20) && count == 20)
            #expect(requests.all == [nil, 3, 7, 11, 15])
            // The same flow later on: nothing is new, and another device is one of its own.
            let again = try await queue.run(flow)
            #expect(again == 0 && log.all.count == 20 && requests.all.last == 19)
            let other = bench.air.adapter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await RecordDevice.description.run(on: .radio(other)) { _ in
                        try await bench.time.sleep(for: .seconds(1000))
                    }
                }
                try await bench.central.peripheral(other.address).withQueue { queue in
                    let count = try await queue.connecting().retrying(.exponential(attempts: 8)).run(flow)
                    #expect(count == 20)
                }
                group.cancelAll()
            }
            #expect(log.all == Array(0..<20) + Array(0..<20))
        }
    }

    @Test(arguments: [0, 1]) func `a synchronization in the place of another one misses no record`(
        transport: Int
    ) async throws {
        try await onQueue { bench, queue in
            let (first, second) = (Recorder<Int>(), Recorder<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await bleError {
                        try await queue.run(Self.synchronization(transport, first), replacing: .activeFlow)
                    }
                    #expect(error?.code == .ended)
                }
                while first.all.count < 30 { try await bench.time.sleep(for: .milliseconds(5)) }
                let count = try await queue.run(Self.synchronization(transport, second), replacing: .activeFlow)
                #expect(count == 200)
                try await group.waitForAll()
            }
            #expect(second.all == Array(0..<200))
        }
    }

    // MARK: - Configuration

    static let wishes = RecordDevice.setting.enumerated().map {
        ConfigurationFlow.Setting($0.element, [UInt8($0.offset + 1)])
    }

    func values(_ queue: CommandQueue) async throws -> [[UInt8]] {
        try await queue.run(
            .block("values") { link in
                var values: [[UInt8]] = []
                for uuid in RecordDevice.setting { values.append(Array(try await link.read(uuid))) }
                return values
            }
        )
    }

    @Test func `settings that differ are written, and those that don't are left alone`() async throws {
        try await onQueue { bench, queue in
            try await queue.run(.write([2], to: RecordDevice.setting[1]))
            bench.air.clearTrace()
            let former = try await queue.run(ConfigurationFlow(Self.wishes))
            #expect(former.map(\.characteristic) == [0, 2, 3].map { RecordDevice.setting[$0].reference })
            #expect(bench.writes.count == 3)
            let now = try await values(queue)
            #expect(now == [[1], [2], [3], [4]])
        }
    }

    @Test func `a setting that is refused, or not kept, has the others written back`() async throws {
        try await onQueue { bench, queue in
            var wishes = Self.wishes
            wishes[2] = ConfigurationFlow.Setting(RecordDevice.setting[2], [UInt8](repeating: 1, count: 600))
            #expect(await bleError { try await queue.run(ConfigurationFlow(wishes)) }?.code == .overflow)
            var now = try await values(queue)
            #expect(now == [[0], [0], [0], [0]])
            // The device says another value than was written.
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 3] }) { _ in [0x0B, 9] })
            let error = await bleError { try await queue.run(ConfigurationFlow(Self.wishes)) }
            #expect(error?.code == .verificationFailed && error?.received == [9])
            now = try await values(queue)
            #expect(now == [[0], [0], [0], [0]])
        }
    }

    /// Loses the link before the third setting is written; the first two can't be written back then.
    private static let loss = Fault.dropLink(insteadOf: .where { $0.count == 4 && $0[0] == 0x12 && $0[3] == 3 })

    @Test func `a configuration that is retried tells what its first attempt has changed, too`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(Self.loss)
            let former = try await queue.retrying(.exponential(attempts: 2)).run(ConfigurationFlow(Self.wishes))
            #expect(former.map(\.characteristic) == RecordDevice.setting.map(\.reference))
            #expect(former.map(\.value) == [[0], [0], [0], [0]])
            let now = try await values(queue)
            #expect(now == [[1], [2], [3], [4]])
        }
    }

    @Test func `a configuration that fails in its second attempt undoes the first one, too`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(Self.loss)
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 4] }) { _ in [0x0B, 9] })
            let flow = ConfigurationFlow(Self.wishes)
            let error = await bleError { try await queue.retrying(.exponential(attempts: 2)).run(flow) }
            #expect(error?.code == .verificationFailed)
            var now = try await values(queue)
            #expect(now == [[0], [0], [0], [0]])
            // Nothing is left to undo: what somebody else sets now is what the next run finds.
            try await queue.run(.write([7], to: RecordDevice.setting[0]))
            bench.air.faults.removeAll()
            let former = try await queue.run(flow)
            #expect(former.map(\.value) == [[7], [0], [0], [0]])
            now = try await values(queue)
            #expect(now == [[1], [2], [3], [4]])
        }
    }

    @Test func `a configuration that can't even read in its second attempt undoes the first one, too`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(Self.loss)
            let flow = ConfigurationFlow(Self.wishes)
            #expect(await bleError { try await queue.run(flow) }?.code == .disconnected)
            #expect(try await values(queue) == [[1], [2], [0], [0]])
            let handle = try await queue.run(
                .block("handle") { try await $0.discover().characteristic(RecordDevice.setting[2])?.valueHandle }
            )
            let low = try #require(handle.map { UInt8(truncatingIfNeeded: $0) })
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 0] }) { _ in [0x01, 0x0A, low, 0, 0x0E] })
            #expect(await bleError { try await queue.run(flow) }?.attError == .unlikely)
            bench.air.faults.removeAll()
            #expect(try await values(queue) == [[0], [0], [0], [0]])
        }
    }

    // MARK: - Pairing

    @Test func `pairing finds, connects, provokes, pairs, verifies and remembers`() async throws {
        try await onQueue { bench, queue in
            let (phases, remembered) = (Recorder<String>(), Recorder<PairingFlow.Outcome>())
            let flow = PairingFlow(reading: RecordDevice.secret) { _ in
                let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
                bench.air.setSecurity(security, between: bench.centralAdapter, and: bench.peripheralAdapter)
            } remember: { _, outcome in
                remembered.add(outcome)
            }
            let flows = queue
            let outcome = try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await progress in flows.progress where progress.command == "pairing" {
                        phases.add(progress.phase)
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                defer { group.cancelAll() }
                let outcome = try await flows.run(flow, replacing: .activeFlow)
                try await bench.time.sleep(for: .seconds(1))
                return outcome
            }
            #expect(outcome.wasPaired && outcome.security.isEncrypted && outcome.value.text == "secret")
            #expect(remembered.all == [outcome])
            #expect(phases.all.suffix(4) == ["provoke", "pair", "verify", "remember"])
            let again = try await flows.run(flow, replacing: .activeFlow)
            #expect(!again.wasPaired)
        }
    }

    @Test func `pairing without the queue's connecting finds and connects by itself`() async throws {
        try await Bench.run(description: RecordDevice.description) { bench in
            let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            bench.air.setSecurity(security, between: bench.centralAdapter, and: bench.peripheralAdapter)
            try await bench.peripheral.withQueue { queue in
                let phases = Recorder<String>()
                try await queue.run(PairingFlow(reading: RecordDevice.secret), replacing: .activeFlow) {
                    phases.add($0.phase)
                }
                #expect(phases.all == ["find", "connect", "provoke", "remember"])
            }
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random))
            let error = await bleError {
                _ = try await absent.withQueue {
                    try await $0.run(PairingFlow(reading: RecordDevice.secret, limit: .seconds(5)))
                }
            }
            #expect(error?.code == .timedOut && error?.cause.contains("'find'") == true)
        }
    }

    // MARK: - One flow takes the place of another

    /// Hears values for ever.
    struct Listening: Command {
        let heard: Recorder<String>
        let time: VirtualTime

        func run(in context: CommandContext) async throws {
            heard.add("begin")
            defer { heard.add("end") }
            try await context.subscribe(to: Bench.notifying)
            do {
                while true {
                    if case .received(let value, _) = try await context.next() { heard.add("\(value[0])") }
                }
            } catch {
                // A flow that doesn't want to end, and still hears nothing.
                let late = context.available()
                heard.add(late == nil ? "nothing more" : "late")
                await #expect(throws: (any Error).self) { try await context.read(Bench.readable) }
                throw error
            }
        }
    }

    @Test func `a flow that takes the place of another waits until that has cleaned up`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            try await bench.peripheral.withQueue { queue in
                let (first, second) = (Recorder<String>(), Recorder<String>())
                let flows = queue.connecting()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let error = await bleError {
                            try await flows.run(Listening(heard: first, time: bench.time), replacing: .activeFlow)
                        }
                        #expect(error?.code == .ended && error?.cause.contains("Listening") == true)
                    }
                    try await bench.time.sleep(for: .seconds(2))
                    #expect(flows.activeFlow == "Listening")
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            try await flows.run(Listening(heard: second, time: bench.time), replacing: .activeFlow)
                        }
                    }
                    try await bench.time.sleep(for: .seconds(2))
                    #expect(first.all == ["begin", "0", "1", "2", "nothing more", "end"])
                    #expect(second.all == ["begin", "0", "1", "2"])
                    group.cancelAll()
                }
                #expect(flows.activeFlow == nil)
                // On, off, on, off.
                try await queue.run(.read(Bench.readOnly))
                let switches = bench.writes.map { $0[0] }
                #expect(switches == [1, 0, 1, 0])
            }
        }
    }
}
