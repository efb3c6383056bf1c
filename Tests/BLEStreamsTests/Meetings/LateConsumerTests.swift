import BLESimulator
import BLEStreams
import Testing

/// Values of a session that were kept for a consumer who came late, over several links.
@Suite(.timeLimit(.minutes(10))) struct LateConsumerTests {
    /// When the consumer comes.
    enum Arrival: CaseIterable {
        case whileTheLinkIsDown, onTheNextLink, afterTwoLosses
    }

    @Test(arguments: Arrival.allCases, 1...4 as ClosedRange<UInt64>)
    func `what was kept has a gap wherever a link was lost`(arrival: Arrival, seed: UInt64) async throws {
        let losses = arrival == .afterTwoLosses ? 2 : 1
        let (numbers, places) = (Recorder<UInt32>(), Recorder<Int>())
        try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = .constant(.seconds(3))
            try await bench.central.withSession(plan) { session in
                try await Self.lose(losses, of: session, bench)
                if arrival != .whileTheLinkIsDown {
                    try await session.ready()
                    try await bench.time.sleep(for: .seconds(4))
                }
                try await Self.take(20, from: session, numbers, places)
            }
        }
        let steps = zip(numbers.all, numbers.all.dropFirst()).map { Int($1) - Int($0) }
        let holes = steps.indices.filter { steps[$0] != 1 }.map { $0 + 1 }
        #expect(steps.allSatisfy { $0 > 0 } && holes == places.all, "\(numbers.all) \(places.all)")
        #expect(places.all.count == losses)
    }

    /// Loses so many links, each after some values.
    private static func lose(_ count: Int, of session: Session, _ bench: Bench) async throws {
        for _ in 0..<count {
            try await session.ready()
            try await bench.time.sleep(for: .seconds(4))
            bench.air.faults.add(.dropLink(after: Duration.zero))
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    /// Takes so many values, and notes before which of them a gap of more than a second is.
    private static func take(
        _ count: Int,
        from session: Session,
        _ numbers: Recorder<UInt32>,
        _ places: Recorder<Int>
    ) async throws {
        for try await item in session.notifications(of: Bench.notifying).withGaps() {
            switch item {
            case .value(let value): numbers.add(UInt32(octets: value))
            case .gap(let gap):
                #expect(gap.reason is BLEError && gap.duration > .seconds(1))
                places.add(numbers.all.count)
            }
            if numbers.all.count == count { break }
        }
    }
}
