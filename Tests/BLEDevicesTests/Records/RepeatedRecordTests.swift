import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices that send records again.
@Suite(.timeLimit(.minutes(10))) struct RepeatedRecordTests {
    /// A device that sends these records, whatever is requested.
    private struct StubbornTransport: RecordTransport {
        let numbers: [Int]
        let requests: Recorder<Int?>

        func fetch(
            after last: Int?,
            in context: CommandContext,
            _ take: (DeviceRecord) async throws -> Void
        ) async throws {
            requests.add(last)
            for number in numbers { try await take(DeviceRecord(number: number, bytes: [])) }
        }

        func acknowledge(upTo last: Int, in context: CommandContext) async throws {}
    }

    private func onQueue(_ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void) async throws {
        try await Bench.run(description: RecordDevice.description) { bench in
            try await bench.peripheral.withQueue { try await body(bench, $0.connecting()) }
        }
    }

    @Test(arguments: [[2], [0, 1, 2], [2, 1, 0]])
    func `a device that only repeats its records ends the flow, and what it has stored stays`(
        repeated: [Int]
    ) async throws {
        try await onQueue { _, queue in
            let (stored, requests) = (Recorder<Int>(), Recorder<Int?>())
            let numbers = [0, 1, 2] + Array(repeating: repeated, count: 500).flatMap { $0 }
            let transport = StubbornTransport(numbers: numbers, requests: requests)
            let flow = SynchronizationFlow(over: transport, after: nil) { stored.add($0.number) }
            for _ in 0..<2 {
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .protocolViolation && error?.cause.contains("none after number 2") == true)
                #expect(error?.remedy.isEmpty == false)
            }
            #expect(stored.all == [0, 1, 2] && requests.all == [nil, 2])
        }
    }

    @Test(arguments: [false, true])
    func `runs in two queues store each record once, also what one still has of a link that is lost`(
        isPlain: Bool
    ) async throws {
        let serve = RecordDevice.live(Recorder())
        try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
            bench.air.faults.add(.dropLink(after: 100, .notifications))
            let stored = Recorder<Int>()
            // Slower than the device: many records wait when the link is lost, and another run makes the next one.
            let store: @Sendable (DeviceRecord) async throws -> Void = { record in
                try await bench.time.sleep(for: .milliseconds(50))
                stored.add(record.number)
            }
            let plain = PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records)
            let flow =
                isPlain
                ? SynchronizationFlow(over: plain, after: nil, store: store)
                : SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: nil, store: store)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        try await bench.peripheral.withQueue { queue in
                            try await queue.connecting(timeout: .seconds(600)).run(flow)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(stored.all == Array(0..<200))
            #expect(counts.count == 2)
        }
    }

    @Test(arguments: [Int(UInt32.max) - 1, Int(UInt32.max), .max])
    func `where no number follows the last one, nothing is requested`(last: Int) async throws {
        try await onQueue { bench, queue in
            let transport = PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records)
            let count = try await queue.run(SynchronizationFlow(over: transport, after: last) { _ in })
            #expect(count == 0 && bench.writes.isEmpty)
        }
    }

    @Test func `records that come again before each new one don't end the flow`() async throws {
        try await onQueue { _, queue in
            let stored = Recorder<Int>()
            let numbers = (0..<150).flatMap { [0, $0, $0, max(0, $0 - 1), $0] }
            let transport = StubbornTransport(numbers: numbers, requests: Recorder())
            let flow = SynchronizationFlow(over: transport, after: nil) { stored.add($0.number) }
            let count = try await queue.run(flow)
            #expect(count == 150 && stored.all == Array(0..<150))
        }
    }

    @Test(arguments: [0, 1]) func `a device that only repeats its latest record ends the flow`(
        transport: Int
    ) async throws {
        let live: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes(to: RecordDevice.control) {
                        write.accept()
                        let record = UInt32(9).octets + RecordDevice.record(9)
                        for _ in 0..<(UInt32(octets: write.value.dropFirst()) > 9 ? 0 : 200) {
                            _ = try? await server.notify(record, of: RecordDevice.records, to: write.central)
                        }
                        _ = try? await server.notify(UInt32.max.octets, of: RecordDevice.records, to: write.central)
                    }
                }
                group.addTask {
                    for try await write in server.writes(to: RecordDevice.controlPoint) {
                        write.accept()
                        let command = Array(write.value)
                        for _ in 0..<(command == [1, 6] ? 200 : 0) {
                            let record: [UInt8] = [0, 9, 0] + RecordDevice.record(9)
                            _ = try? await server.notify(record, of: RecordDevice.glucose, to: write.central)
                        }
                        let answer: [UInt8] = [6, 0, command[0], command.count == 5 ? 6 : 1]
                        _ = try? await server.indicate(answer, of: RecordDevice.controlPoint, to: write.central)
                    }
                }
                try await group.waitForAll()
            }
        }
        try await Bench.run(description: RecordDevice.description, serve: live) { bench in
            try await bench.peripheral.withQueue { queue in
                let flow = FlowTests.synchronization(transport, after: 9, Recorder())
                let error = await bleError { _ = try await queue.connecting().run(flow) }
                #expect(error?.code == .protocolViolation && error?.cause.contains("none after number 9") == true)
            }
        }
    }

    @Test func `a report of a former flow that only repeats its records ends the next flow`() async throws {
        let requests = Recorder<Int>()
        let live: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await write in server.writes(to: RecordDevice.control) {
                write.accept()
                guard write.value.first == 1 else { continue }
                requests.add(requests.all.count)
                let numbers = requests.all.count == 1 ? Array(0..<5) : Array(repeating: 3, count: 200)
                for number in numbers {
                    let record = UInt32(number).octets + RecordDevice.record(number)
                    _ = try? await server.notify(record, of: RecordDevice.records, to: write.central)
                }
                if requests.all.count == 1 { continue }
                _ = try? await server.notify(UInt32.max.octets, of: RecordDevice.records, to: write.central)
            }
        }
        try await Bench.run(description: RecordDevice.description, serve: live) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let stored = Recorder<Int>()
                let transport = PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records)
                let first = queue.enqueue(
                    SynchronizationFlow(over: transport, after: nil) { stored.add($0.number) }
                )
                while stored.all.count < 5 { try await bench.time.sleep(for: .milliseconds(5)) }
                first.cancel()
                await #expect(throws: CancellationError.self) { try await first.value }
                let flow = SynchronizationFlow(over: transport, after: 4) { stored.add($0.number) }
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .protocolViolation && error?.cause.contains("none after number 3") == true)
                #expect(stored.all == Array(0..<5) && requests.all.count == 2)
            }
        }
    }
}
