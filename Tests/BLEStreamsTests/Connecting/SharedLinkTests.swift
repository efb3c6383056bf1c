import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Several at a time who want a link to one peripheral.
@Suite(.timeLimit(.minutes(10))) struct SharedLinkTests {
    /// Sends a number each second of two characteristics.
    private static let sendTwo: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt32 = 0
        while true {
            try await server.notify(number.octets, of: Bench.notifying)
            try await server.notify(number.octets, of: Bench.counter)
            number += 1
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    private static func follow(
        _ uuid: BluetoothUUID,
        _ bench: Bench,
        timeout: Duration = .seconds(30)
    ) -> BLEStream<BluetoothUUID> {
        bench.peripheral.stream(timeout: timeout) { $0.notifications(of: uuid) }.retry().map { _ in uuid }
    }

    private static func connections(_ bench: Bench) async throws -> Int {
        try await bench.peripheral.connectionStates.take(until: bench.time.after(.seconds(60)))
            .filter { $0 == .connected }.collect().count
    }

    @Test func `two streams with retry, merged, share one link, and neither starves`() async throws {
        for seed in 1...10 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Self.sendTwo) { bench in
                async let connections = Self.connections(bench)
                let both = Self.follow(Bench.notifying, bench).merge(with: Self.follow(Bench.counter, bench))
                let values = try await both.timeout(.seconds(10)).prefix(40).collect()
                let first = values.count { $0 == Bench.notifying }
                #expect(first >= 18 && first <= 22, "seed \(seed): \(first)")
                try await bench.time.sleep(for: .seconds(5))
                #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
                #expect(try await connections == 1, "seed \(seed)")
            }
        }
    }

    @Test func `when their link is lost both go on, on one link`() async throws {
        for seed in 1...10 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Self.sendTwo) { bench in
                async let connections = Self.connections(bench)
                bench.air.faults.add(.dropLink(after: 8, .notifications))
                bench.air.faults.add(.dropLink(after: .seconds(30)))
                let both = Self.follow(Bench.notifying, bench).merge(with: Self.follow(Bench.counter, bench))
                let values = try await both.timeout(.seconds(20)).take(until: bench.time.after(.seconds(55))).collect()
                let first = values.count { $0 == Bench.notifying }
                #expect(first > 30 && values.count - first > 30, "seed \(seed): \(first) of \(values.count)")
                let links = try await connections
                #expect(links >= 2 && links <= 3, "seed \(seed): \(links)")
                #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
            }
        }
    }

    @Test func `one leaves, and the other goes on without noticing`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            async let connections = Self.connections(bench)
            async let long = Self.follow(Bench.counter, bench).withGaps().prefix(30).collect()
            _ = try await Self.follow(Bench.notifying, bench).prefix(3).collect()
            let items = try await long
            #expect(items.allSatisfy { if case .value = $0 { true } else { false } })
            #expect(try await connections == 1)
            // Each was switched on, and off when it ended.
            #expect(bench.writes == [[1, 0], [1, 0], [0, 0], [0, 0]])
        }
    }

    @Test func `a closure with the link runs beside a live stream, on its link, and leaves it alone`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            async let connections = Self.connections(bench)
            var values = Self.follow(Bench.notifying, bench).withGaps().makeAsyncIterator()
            _ = try await values.next()
            let begin = bench.time.now
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                // And one in the other.
                try await bench.peripheral.withLink { try await $0.expect(Bench.readOnly, reads: [7]) }
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
            #expect(bench.time.now - begin < .seconds(1))
            for _ in 0..<5 {
                guard case .value? = try await values.next() else {
                    Issue.record("a gap")
                    return
                }
            }
            #expect(bench.centralAdapter.activity.links == [bench.peripheralAdapter.address])
            #expect(try await connections == 1)
        }
    }

    @Test func `the link is dropped when the last one leaves, in whatever order`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await Self.follow(Bench.notifying, bench).prefix(2).collect()
                try await link.expect(Bench.readOnly, reads: [7])
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a session and a stream share the link, and each ends its own part`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            async let connections = Self.connections(bench)
            var values = Self.follow(Bench.counter, bench).withGaps().makeAsyncIterator()
            _ = try await values.next()
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let numbers = try await session.notifications(of: Bench.notifying).prefix(3).collect()
                #expect(numbers.count == 3)
                await session.disconnect()
                #expect(session.state == .disconnected(.initial))
                try session.connect()
                // Nothing comes twice.
                let more = try await session.notifications(of: Bench.notifying).prefix(3).collect()
                #expect(Set(more.map { UInt32(octets: $0) }).count == 3)
            }
            guard case .value? = try await values.next() else {
                Issue.record("a gap")
                return
            }
            #expect(try await connections == 1)
            #expect(bench.writes == [[1, 0], [1, 0], [0, 0], [1, 0], [0, 0]])
        }
    }

    @Test func `two sessions of a fleet on one device both live`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            bench.air.faults.add(.dropLink(after: 20, .notifications))
            try await bench.central.withFleet { fleet in
                let first = fleet.add(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
                let second = fleet.add(Session.Plan(bench.peripheral).subscribing(to: Bench.counter))
                var counts: [ObjectIdentifier: Int] = [:]
                for try await item in fleet.values.timeout(.seconds(30)) {
                    counts[ObjectIdentifier(item.session), default: 0] += 1
                    if counts.count == 2, counts.values.allSatisfy({ $0 >= 20 }) { break }
                }
                await fleet.remove(first)
                #expect(second.state.isReady)
                #expect(bench.centralAdapter.activity.links == [bench.peripheralAdapter.address])
            }
        }
    }

    @Test func `a queue that connects uses the link of a live stream, and leaves it alone`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            var values = Self.follow(Bench.notifying, bench).withGaps().makeAsyncIterator()
            _ = try await values.next()
            let value = try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(.read(Bench.readable))
            }
            #expect(Array(value) == [1, 2, 3])
            for _ in 0..<3 {
                guard case .value? = try await values.next() else {
                    Issue.record("a gap")
                    return
                }
            }
        }
    }

    // MARK: - While it is being made

    @Test func `who is cancelled while connecting leaves the attempt to the others`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            bench.air.faults.add(.delayConnections(by: .seconds(5)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await bench.peripheral.withLink { _ in } }
                try await bench.time.sleep(for: .seconds(2))
                async let value = Self.follow(Bench.notifying, bench).first()
                try await bench.time.sleep(for: .seconds(1))
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.waitForAll() }
                #expect(bench.centralAdapter.activity.connecting.count == 1)
                #expect(try await value == Bench.notifying)
                #expect(bench.time.now < .seconds(8))
            }
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `when all are cancelled nothing goes on connecting`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.ignoreConnections)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { try? await bench.peripheral.withLink { _ in } } }
                try await bench.time.sleep(for: .seconds(2))
                #expect(bench.centralAdapter.activity.connecting.count == 1)
                group.cancelAll()
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `each waits for as long as its own time limit says`() async throws {
        try await Bench.run { bench in
            let fault = bench.air.faults.add(.ignoreConnections)
            try await withThrowingTaskGroup(of: (Int, BLEError?, Duration).self) { group in
                for limit in [20, 8, 40] {
                    group.addTask {
                        let error = await bleError {
                            try await bench.peripheral.withLink(timeout: .seconds(limit)) { _ in }
                        }
                        return (limit, error, bench.time.now)
                    }
                }
                for try await (limit, error, end) in group {
                    #expect(error?.code == .timedOut && error?.elapsed == .seconds(limit) && end == .seconds(limit))
                }
            }
            #expect(bench.centralAdapter.activity.isIdle)
            async let late: Void = bench.peripheral.withLink(timeout: .seconds(60)) { _ in }
            _ = await bleError { try await bench.peripheral.withLink(timeout: .seconds(5)) { _ in } }
            bench.air.faults.remove(fault)
            try await late
        }
    }

    @Test func `sessions that share a link leave nothing on it, however often they come and go`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            try await bench.peripheral.withLink { link in
                let before = link.lifetime.end.observers
                for _ in 0..<4 {
                    let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.counter)
                    try await bench.central.withSession(plan) { session in
                        try await session.ready()
                        await session.disconnect()
                        try session.connect()
                        try await session.ready()
                    }
                }
                #expect(link.lifetime.end.observers == before)
            }
        }
    }

    @Test func `a refusal is told to all who wait`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.refuseConnections(100))
            await withTaskGroup(of: BLEError?.self) { group in
                for _ in 0..<3 { group.addTask { await bleError { try await bench.peripheral.withLink { _ in } } } }
                for await error in group { #expect(error?.code == .connectionFailed) }
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `scanning goes on while a link is made and used`() async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            async let heard = bench.central.scan(duplicates: true).take(until: bench.time.after(.seconds(20))).collect()
            let values = try await Self.follow(Bench.notifying, bench).prefix(5).collect()
            #expect(values.count == 5)
            let last = try await heard.last
            #expect(last.map { $0.time.sinceEpoch - VirtualTime.beginning.sinceEpoch > .seconds(10) } == true)
        }
    }
}
