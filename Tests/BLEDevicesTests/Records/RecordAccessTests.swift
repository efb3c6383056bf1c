import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Reports that are ended before the device has sent all of it.
@Suite(.timeLimit(.minutes(10))) struct RecordAccessTests {
    /// Gets the numbers of all records that come, whichever they are: no number is passed over as it is in a
    /// synchronization.
    struct Fetching: Command {
        let last: Int?
        let heard: Recorder<Int>
        var refuses: Int?

        func run(in context: CommandContext) async throws {
            try await context.resuming {
                try await RecordAccessControlPoint.glucose.fetch(after: last, in: context) { record in
                    if record.number == refuses {
                        throw BLEError(.systemFailure, operation: "store", cause: "the disk is full")
                    }
                    heard.add(record.number)
                }
            }
        }
    }

    static let report: [UInt8] = [1, 1]
    static let abort: [UInt8] = [3, 0]

    func onQueue(
        answersAborts: Bool = true,
        seed: UInt64,
        _ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void
    ) async throws {
        try await Bench.run(
            seed: seed,
            description: RecordDevice.description,
            serve: RecordDevice.live(Recorder(), answersAborts: answersAborts)
        ) { bench in
            try await bench.peripheral.withQueue { try await body(bench, $0.connecting()) }
        }
    }

    /// What the device was told, without what is switched on and off.
    private func commands(_ bench: Bench) -> [[UInt8]] {
        bench.writes.filter { [Self.report, Self.abort].contains($0) || $0.count == 5 }
    }

    /// What the device's control point indicated.
    private func answers(_ bench: Bench) -> [[UInt8]] {
        bench.sent(by: .peripheral).filter { $0.first == 0x1D }.map { Array($0.dropFirst(3)) }
    }

    private func request(after number: Int) -> [UInt8] { [1, 3, 1, UInt8(number + 1), 0] }

    /// Begins a report, ends its flow in some way once 20 records have come, and returns how many have come in the end.
    private func interrupted(
        _ bench: Bench,
        _ work: @escaping @Sendable (Recorder<Int>) async throws -> Void,
        _ end: (inout ThrowingTaskGroup<Void, any Error>) async throws -> Void
    ) async throws -> Int {
        let heard = Recorder<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work(heard) }
            while heard.all.count < 20 { try await bench.time.sleep(for: .milliseconds(15)) }
            try await end(&group)
            try? await group.waitForAll()
        }
        #expect(heard.all == Array(0..<heard.all.count))
        return heard.all.count
    }

    @Test(arguments: 1...3) func `a report whose flow is cancelled is aborted, and the next has its own records alone`(
        seed: UInt64
    ) async throws {
        try await onQueue(seed: seed) { bench, queue in
            let count = try await interrupted(bench) { heard in
                try await queue.run(Fetching(last: nil, heard: heard))
            } _: { group in
                let before = bench.time.now
                group.cancelAll()
                try? await group.waitForAll()
                #expect(bench.time.now - before < .seconds(1))
            }
            #expect(count < 100)
            #expect(commands(bench) == [Self.report, Self.abort])
            let heard = Recorder<Int>()
            try await queue.run(Fetching(last: 149, heard: heard))
            #expect(heard.all == Array(150..<200))
            #expect(commands(bench) == [Self.report, Self.abort, request(after: 149)])
            #expect(answers(bench) == [[6, 0, 3, 1], [6, 0, 1, 1]])
        }
    }

    @Test(arguments: 1...3) func `a report whose flow is replaced is aborted, and the next has its own records alone`(
        seed: UInt64
    ) async throws {
        try await onQueue(seed: seed) { bench, queue in
            let flows = queue
            let next = Recorder<Int>()
            let count = try await interrupted(bench) { heard in
                let error = await bleError {
                    try await flows.run(Fetching(last: nil, heard: heard), replacing: .activeFlow)
                }
                #expect(error?.code == .ended)
            } _: { _ in
                try await flows.run(Fetching(last: 149, heard: next), replacing: .activeFlow)
            }
            #expect(count < 100)
            #expect(next.all == Array(150..<200))
            #expect(commands(bench) == [Self.report, Self.abort, request(after: 149)])
            #expect(answers(bench) == [[6, 0, 3, 1], [6, 0, 1, 1]])
            try await queue.run(.block("look") { try await $0.expectNoSubscriptions() })
        }
    }

    @Test func `a report that the device could not complete is to be requested again`() async throws {
        try await onQueue(seed: 1) { bench, queue in
            let isEnd = PDUFilter.where { $0.first == 0x1D && $0.suffix(4) == [6, 0, 1, 1] }
            bench.air.faults.add(.replace(isEnd) { $0.dropLast() + [8] }.times(1))
            let stored = Recorder<Int>()
            let flow = FlowTests.synchronization(1, after: nil, stored)
            let error = await bleError { try await queue.run(flow) }
            #expect(error?.code == .attributeError && error?.isFinal == false)
            #expect(error?.remedy.contains("again") == true && error?.remedy.contains("numbers") == false)
            // As the remedy says.
            let count = try await queue.run(flow)
            #expect(count == 200)
            #expect(stored.all == Array(0..<200))
        }
    }

    @Test func `a record that can't be stored has the report aborted`() async throws {
        try await onQueue(seed: 1) { bench, queue in
            let error = await bleError { try await queue.run(Fetching(last: nil, heard: Recorder(), refuses: 20)) }
            #expect(error?.cause == "the disk is full")
            #expect(commands(bench) == [Self.report, Self.abort])
        }
    }

    @Test func `a report that is over, or was refused, is not aborted`() async throws {
        try await onQueue(seed: 1) { bench, queue in
            try await queue.run(Fetching(last: 150, heard: Recorder()))
            #expect(commands(bench) == [request(after: 150)])
            // What the device indicates is that it can't: "operator not supported".
            bench.air.faults.add(.replace(.where { $0.first == 0x1D }) { Array($0.prefix(3)) + [6, 0, 1, 4] })
            var error = await bleError { try await queue.run(Fetching(last: 160, heard: Recorder())) }
            #expect(error?.cause.contains("code 4") == true)
            // The write is refused: it comes to a handle that the device doesn't have.
            bench.air.faults.add(
                .replace(.where { $0.dropFirst(3).starts(with: [1, 3]) }) { [0x12, 0xFE, 0xFF] + $0.dropFirst(3) }
            )
            error = await bleError { try await queue.run(Fetching(last: 170, heard: Recorder())) }
            #expect(error?.code == .attributeError)
            #expect(commands(bench) == [150, 160, 170].map(request))
        }
    }

    @Test func `a late answer to a request for the number of records is no answer to the report`() async throws {
        try await onQueue(seed: 1) { bench, queue in
            // It comes in the place of a record. The control point's value has the third handle behind the records'.
            bench.air.faults.add(
                .replace(.notifications) { [0x1D, $0[1] + 3, $0[2], 5, 0, 200, 0] }.skipping(5).times(1)
            )
            let heard = Recorder<Int>()
            try await queue.run(Fetching(last: 150, heard: heard))
            #expect(heard.all == Array(151..<156) + Array(157..<200))
            #expect(commands(bench) == [request(after: 150)])
        }
    }

    /// Silence where the abort is to be answered, and where even the write of it is.
    @Test(arguments: [false, true]) func `a device that says nothing to an abort keeps nobody for long`(
        isDeaf: Bool
    ) async throws {
        try await onQueue(answersAborts: false, seed: 1) { bench, queue in
            _ = try await interrupted(bench) { heard in
                try await queue.run(Fetching(last: nil, heard: heard))
            } _: { group in
                if isDeaf { bench.air.faults.add(.swallow(.writeResponses)) }
                let before = bench.time.now
                group.cancelAll()
                try? await group.waitForAll()
                #expect((Duration.seconds(5)...(.seconds(6))).contains(bench.time.now - before))
            }
            #expect(commands(bench) == [Self.report, Self.abort])
            if !isDeaf { try await queue.run(.block("look") { try await $0.expectNoSubscriptions() }) }
        }
    }

    @Test func `a link that is lost during an abort ends the wait`() async throws {
        try await onQueue(answersAborts: false, seed: 1) { bench, queue in
            _ = try await interrupted(bench) { heard in
                try await queue.run(Fetching(last: nil, heard: heard))
            } _: { group in
                let before = bench.time.now
                group.cancelAll()
                try await bench.time.sleep(for: .seconds(1))
                bench.centralAdapter.powerOff()
                try? await group.waitForAll()
                #expect(bench.time.now - before < .seconds(2))
            }
        }
    }
}
