import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Reports over plain characteristics whose flow has ended before them, and which the device goes on with.
@Suite(.timeLimit(.minutes(10))) struct UnfinishedReportTests {
    /// A device with records below 200, all or every other one, that sends them whether anybody listens or not.
    private final class HeedlessDevice: Sendable {
        private struct Request: Sendable {
            let first: Int
            /// How many requests there were by then.
            let place: Int
            let central: ConnectedCentral
        }

        let numbers: [Int]
        /// What a program has stored of them.
        let stored = Recorder<Int>()
        /// The first numbers that were requested.
        let requested = Recorder<Int>()
        let acknowledged = Recorder<Int>()
        /// What was acknowledged before everything up to it was stored.
        let tooEarly = Recorder<Int>()
        private let isReplacing: Bool

        /// - Parameters:
        ///   - isReplacing: whether a request ends the report under way; otherwise it waits for its end.
        ///   - step: from each number to the next one.
        init(isReplacing: Bool, step: Int) {
            self.isReplacing = isReplacing
            numbers = Array(stride(from: 0, to: 200, by: step))
        }

        func live(_ server: PeripheralServer, _ bench: Bench) async throws {
            let (requests, queue) = AsyncStream.makeStream(of: Request.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes(to: RecordDevice.control) {
                        write.accept()
                        let number = Int(UInt32(octets: write.value.dropFirst()))
                        if write.value.first == 2 {
                            self.note(number)
                        } else {
                            self.requested.add(number)
                            let place = self.requested.all.count
                            queue.yield(Request(first: number, place: place, central: write.central))
                        }
                    }
                }
                group.addTask {
                    for await request in requests { try await self.report(request, server, bench) }
                }
                try await group.waitForAll()
            }
        }

        private func note(_ number: Int) {
            acknowledged.add(number)
            if stored.all != numbers.filter({ $0 <= number }) { tooEarly.add(number) }
        }

        private func report(_ request: Request, _ server: PeripheralServer, _ bench: Bench) async throws {
            for number in numbers where number >= request.first {
                if isReplacing, requested.all.count > request.place { return }
                let record = UInt32(number).octets + RecordDevice.record(number)
                // Who doesn't listen misses it.
                _ = try? await server.notify(record, of: RecordDevice.records, to: request.central)
                try await bench.time.sleep(for: .milliseconds(5))
            }
            _ = try? await server.notify(UInt32.max.octets, of: RecordDevice.records, to: request.central)
        }

        func synchronization(after last: Int?) -> SynchronizationFlow {
            let transport = PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records)
            return SynchronizationFlow(over: transport, after: last, batch: 16) { self.stored.add($0.number) }
        }

        /// Runs a body beside the device.
        func run(_ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void) async throws {
            let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { try await self.live($0, $1) }
            try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
                try await bench.peripheral.withQueue { try await body(bench, $0.connecting()) }
            }
        }
    }

    @Test(arguments: [false, true], [1, 2])
    func `the rest of a report is not taken for the next one on the same link`(
        isReplacing: Bool,
        step: Int
    ) async throws {
        let device = HeedlessDevice(isReplacing: isReplacing, step: step)
        try await device.run { bench, queue in
            let first = queue.enqueue(device.synchronization(after: nil))
            while device.stored.all.count < 10 { try await bench.time.sleep(for: .milliseconds(5)) }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let stored = device.stored.all
            #expect(stored.count < device.numbers.count / 2)
            let count = try await queue.run(device.synchronization(after: stored.last))
            #expect(device.stored.all == device.numbers && count == device.numbers.count - stored.count)
            #expect(device.acknowledged.all.last == device.numbers.last && device.tooEarly.all.isEmpty)
            // What was requested twice may be on its way now.
            let none = try await queue.run(device.synchronization(after: device.numbers.last))
            #expect(none == 0 && device.stored.all == device.numbers)
            let links = bench.sent(by: .central).count { $0.first == 0x02 }
            #expect(links == 1)
        }
    }

    @Test func `reports that come to their ends are requested once, wherever they begin`() async throws {
        let device = HeedlessDevice(isReplacing: true, step: 2)
        try await device.run { bench, queue in
            let count = try await queue.run(device.synchronization(after: 100))
            let none = try await queue.run(device.synchronization(after: 198))
            #expect(count == 49 && none == 0 && device.stored.all == Array(stride(from: 102, to: 200, by: 2)))
            // The last record is asked for, since there are no new ones: the numbers could have begun anew.
            #expect(device.requested.all == [101, 199, 198])
        }
    }
}
