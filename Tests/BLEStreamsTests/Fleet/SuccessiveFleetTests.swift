import BLESimulator
import BLEStreams
import Testing

/// Consumers of a fleet's values that come one after another.
@Suite(.timeLimit(.minutes(10))) struct SuccessiveFleetTests {
    private static func send(_ first: UInt32, _ server: PeripheralServer, _ bench: Bench) async throws {
        for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
            for number in 0..<100 {
                if number.isMultiple(of: 25) { try await bench.time.sleep(for: .seconds(1)) }
                try await server.notify((first + UInt32(number)).octets, of: Bench.notifying, to: change.central)
            }
        }
    }

    private static func run(_ body: @escaping @Sendable (Bench, Fleet) async throws -> Void) async throws {
        try await Bench.run {
            try await Self.send(0, $0, $1)
        } _: { bench in
            let other = bench.air.adapter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: other) { try await Self.send(1000, $0, bench) } }
                try await bench.central.withFleet { fleet in
                    for peripheral in [bench.peripheral, bench.central.peripheral(other.address)] {
                        fleet.add(Session.Plan(peripheral).subscribing(to: Bench.notifying))
                    }
                    try await body(bench, fleet)
                }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `values that are taken one at a time come all, each session's in order`() async throws {
        try await Self.run { _, fleet in
            var numbers: [UInt32] = []
            for _ in 0..<200 {
                numbers.append(UInt32(octets: try await fleet.values.timeout(.seconds(60)).first().value))
            }
            #expect(numbers.filter { $0 < 1000 } == Array(0..<100))
            #expect(numbers.filter { $0 >= 1000 } == Array(1000..<1100))
        }
    }

    @Test func `the counts of a consumer that leaves are right, and its values count for the next one`() async throws {
        try await Self.run { bench, fleet in
            let former = fleet.values
            _ = try await former.collect(10)
            try await bench.time.sleep(for: .seconds(20))
            let next = fleet.values
            let all = try await next.timeout(.seconds(60)).collect(190)
            #expect(all.count == 190)
            for stream in [former, next] {
                #expect(stream.counters.received == stream.counters.delivered && stream.counters.dropped == 0)
            }
        }
    }

    @Test func `what a stream that was stopped has not delivered is the next one's`() async throws {
        try await Self.run { bench, fleet in
            var numbers: [UInt32] = []
            for try await item in fleet.values.prefix(for: .seconds(20)) {
                numbers.append(UInt32(octets: item.value))
                // The time is over while the consumer is busy, and then it leaves.
                if numbers.count == 5 { try await bench.time.sleep(for: .seconds(40)) }
                if numbers.count == 10 { break }
            }
            numbers += try await fleet.values.timeout(.seconds(60)).collect(190).map { UInt32(octets: $0.value) }
            #expect(numbers.filter { $0 < 1000 } == Array(0..<100))
            #expect(numbers.filter { $0 >= 1000 } == Array(1000..<1100))
        }
    }
}
