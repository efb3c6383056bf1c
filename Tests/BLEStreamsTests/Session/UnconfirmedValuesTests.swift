import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Values that a session gets before its subscription is confirmed: others are subscribed to the same.
@Suite(.timeLimit(.minutes(10))) struct UnconfirmedValuesTests {
    /// One number each 100 ms.
    private static let counting: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        for number in UInt32(0)... {
            try await bench.time.sleep(for: .milliseconds(100))
            _ = try? await server.notify(number.octets, of: Bench.notifying)
        }
    }

    /// Found by world 1043107.
    @Test func `a session that gives up a subscription on a link of others tells of the time until the next one`()
        async throws
    {
        try await Bench.run(serve: Self.counting) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.read(Bench.readable)
                try await bench.time.sleep(for: .seconds(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    // The peripheral sends numbers long before it confirms that it does.
                    bench.air.faults.add(.delay(.responses, by: .seconds(16)).times(1))
                    group.addTask { for try await _ in link.notifications(of: Bench.notifying) {} }
                    try await bench.time.sleep(for: .milliseconds(500))
                    var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                    plan.limits.subscribe = .seconds(5)
                    try await bench.central.withSession(plan) { session in
                        try await self.checkNumbers(of: session)
                    }
                    group.cancelAll()
                }
            }
        }
    }

    /// Checks that where numbers are missing a gap is told.
    private func checkNumbers(of session: Session) async throws {
        var (last, isTold, gaps, count) = (UInt32?.none, false, 0, 0)
        for try await item in session.notifications(of: Bench.notifying).withGaps() {
            switch item {
            case .gap(let gap):
                #expect((gap.reason as? BLEError)?.code == .timedOut && gap.duration > .zero)
                isTold = true
                gaps += 1
            case .value(let value):
                let number = UInt32(octets: value)
                if let last { #expect(number == last + 1 || isTold, "\(number) behind \(last)") }
                (last, isTold) = (number, false)
                count += 1
            }
            if count > 250 { break }
        }
        #expect(gaps > 0)
    }
}
