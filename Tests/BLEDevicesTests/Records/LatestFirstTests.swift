import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices that don't send the record with the lowest number first.
@Suite(.timeLimit(.minutes(10))) struct LatestFirstTests {
    /// A device that sends these records of those requested, in this order.
    private struct UnorderedTransport: RecordTransport {
        let numbers: [Int]
        var size = 0
        var requests = Recorder<Int?>()
        /// Whether it also sends those that are not requested.
        var sendsAll = false

        func fetch(
            after last: Int?,
            in context: CommandContext,
            _ take: (DeviceRecord) async throws -> Void
        ) async throws {
            requests.add(last)
            for number in numbers where sendsAll || number > last ?? -1 {
                try await take(DeviceRecord(number: number, bytes: [UInt8](repeating: 1, count: size)))
            }
        }

        func acknowledge(upTo last: Int, in context: CommandContext) async throws {}
    }

    private func onQueue(_ body: @escaping @Sendable (CommandQueue) async throws -> Void) async throws {
        try await Bench.run(description: RecordDevice.description) { bench in
            try await bench.peripheral.withQueue { try await body($0.connecting()) }
        }
    }

    @Test(arguments: [1, 2, 90, 500]) func `records that come latest first are all stored, in order`(
        count: Int
    ) async throws {
        try await onQueue { queue in
            let (stored, requests) = (Recorder<Int>(), Recorder<Int?>())
            let transport = UnorderedTransport(numbers: (7..<7 + count).reversed(), requests: requests)
            let flow = SynchronizationFlow(over: transport, after: nil) { stored.add($0.number) }
            let (first, second) = (try await queue.run(flow), try await queue.run(flow))
            #expect(first == count && second == 0)
            #expect(stored.all == Array(7..<7 + count) && requests.all == [nil, 6 + count])
        }
    }

    @Test func `those that are stored already, and come too, are left out`() async throws {
        try await onQueue { queue in
            let stored = Recorder<Int>()
            let transport = UnorderedTransport(numbers: (0..<400).reversed(), sendsAll: true)
            let flow = SynchronizationFlow(over: transport, after: 99) { stored.add($0.number) }
            let count = try await queue.run(flow)
            #expect(count == 300 && stored.all == Array(100..<400))
        }
    }

    @Test func `a flow that could not store one goes on with that one`() async throws {
        try await onQueue { queue in
            let (stored, requests) = (Recorder<Int>(), Recorder<Int?>())
            let transport = UnorderedTransport(numbers: (0..<300).reversed(), requests: requests)
            let flow = SynchronizationFlow(over: transport, after: nil) { record in
                if record.number == 250, requests.all.count == 1 {
                    throw BLEError(.systemFailure, operation: "store", cause: "the disk is full")
                }
                stored.add(record.number)
            }
            #expect(await bleError { try await queue.run(flow) }?.cause == "the disk is full")
            let count = try await queue.run(flow)
            #expect(count == 300 && stored.all == Array(0..<300) && requests.all == [nil, 249])
        }
    }

    @Test(arguments: [1, 64]) func `an earlier record behind a stored one is told`(batch: Int) async throws {
        try await onQueue { queue in
            let stored = Recorder<Int>()
            let numbers = batch == 1 ? [5, 3, 4] : [5, 6, 3]
            let transport = UnorderedTransport(numbers: numbers)
            let flow = SynchronizationFlow(over: transport, after: nil, batch: batch) { stored.add($0.number) }
            // Another attempt would begin behind the stored ones, and succeed without the earlier one.
            let error = await bleError { try await queue.retrying(.exponential(attempts: 3)).run(flow) }
            #expect(error?.code == .protocolViolation && error?.cause.contains("sent record 3 behind record 5") == true)
            #expect(stored.all == (batch == 1 ? [5] : [5, 6]))
            #expect(error?.remedy.contains("`after: nil`") == true)
            guard batch == 1 else { return }
            // What the remedy says.
            let all = Recorder<Int>()
            let count = try await queue.run(SynchronizationFlow(over: transport, after: nil) { all.add($0.number) })
            #expect(count == 3 && all.all == [3, 4, 5])
        }
    }

    @Test(arguments: [[1, 2, 6, 5, 7], [0, 2, 6, 6, 0, 4, 7], [0, 6, 5, 4]])
    func `a record that was passed over and comes behind a later one is told, not left out`(
        numbers: [Int]
    ) async throws {
        try await onQueue { queue in
            let stored = Recorder<Int>()
            let flow = SynchronizationFlow(over: UnorderedTransport(numbers: numbers), after: nil) {
                stored.add($0.number)
            }
            let error = await bleError { try await queue.run(flow) }
            #expect(error?.code == .protocolViolation && error?.cause.contains("behind record 6") == true)
            #expect(stored.all.last == 6 && stored.all == stored.all.sorted())
        }
    }

    @Test func `a report that is too large to be kept is told, and nothing of it is stored`() async throws {
        try await onQueue { queue in
            let stored = Recorder<Int>()
            let transport = UnorderedTransport(numbers: (1..<20).reversed(), size: 1 << 20)
            let flow = SynchronizationFlow(over: transport, after: nil) { stored.add($0.number) }
            let error = await bleError { try await queue.run(flow) }
            #expect(error?.code == .overflow && stored.all.isEmpty)
            #expect(error?.cause.contains("15 of them") == true)
        }
    }
}
