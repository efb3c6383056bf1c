import BLESimulator
import BLEStreams
import Testing

/// What a consumer of several subscriptions leaves, over the end of a link.
@Suite(.timeLimit(.minutes(10))) struct RestsBehindBreaksTests {
    private static func items(
        _ stream: BLEStream<CharacteristicValue>,
        _ count: Int
    ) async throws -> [String] {
        try await stream.withGaps().timeout(.seconds(60)).collect(count).map { item in
            item.value.map { String(decoding: $0, as: UTF8.self) } ?? "gap"
        }
    }

    /// Sends chunks of two characteristics on each link, once both are subscribed to.
    private static func serve(
        _ links: [[(BluetoothUUID, String)]]
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            var (subscribed, number): (Set<String>, Int) = ([], 0)
            for try await change in server.subscriptions() where change.isSubscribed {
                subscribed.insert(change.characteristic)
                guard subscribed.count == 2, number < links.count else { continue }
                try await bench.time.sleep(for: .seconds(1))
                for (characteristic, chunk) in links[number] {
                    try await server.notify(Array(chunk.utf8), of: characteristic, to: change.central)
                }
                (subscribed, number) = ([], number + 1)
            }
        }
    }

    /// On the second link, the other subscription's value comes first.
    @Test func `what a consumer of all values leaves has the end of the link in each subscription`() async throws {
        let serve = Self.serve([
            [(Bench.notifying, "first\n"), (Bench.notifying, "ha"), (Bench.counter, "1")],
            [(Bench.counter, "2"), (Bench.notifying, "lf\n"), (Bench.notifying, "last\n")],
        ])
        try await Bench.run(serve: serve) { bench in
            bench.air.faults.add(.dropLink(after: 3, .notifications))
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.counter)
            try await bench.central.withSession(plan) { session in
                for try await item in session.values {
                    #expect(String(decoding: item.value, as: UTF8.self) == "first\n")
                    try await bench.time.sleep(for: .seconds(30))
                    break
                }
                let counts = try await Self.items(session.notifications(of: Bench.counter), 3)
                #expect(counts == ["1", "gap", "2"])
                let chunks = try await Self.items(session.notifications(of: Bench.notifying), 4)
                #expect(chunks == ["ha", "gap", "lf\n", "last\n"])
            }
        }
    }

    /// What it has taken over from the first one, it leaves for the third.
    @Test func `a second consumer of all values that leaves hands on the end of the link in each subscription, too`()
        async throws
    {
        let serve = Self.serve([
            [(Bench.counter, "1"), (Bench.notifying, "1st\n"), (Bench.notifying, "2nd\n"), (Bench.notifying, "ha")],
            [(Bench.notifying, "lf\n"), (Bench.counter, "2")],
        ])
        try await Bench.run(serve: serve) { bench in
            bench.air.faults.add(.dropLink(after: 4, .notifications))
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.counter)
            try await bench.central.withSession(plan) { session in
                // Both are subscribed to again, and nothing has come since then.
                _ = try await session.states.filter { $0.state.kind == .ready }.collect(2)
                for _ in 0..<2 { _ = try await session.values.first() }
                try await bench.time.sleep(for: .seconds(30))
                let counts = try await Self.items(session.notifications(of: Bench.counter), 3)
                #expect(counts == ["1", "gap", "2"])
                let chunks = try await Self.items(session.notifications(of: Bench.notifying), 3)
                #expect(chunks == ["ha", "gap", "lf\n"])
            }
        }
    }

    /// Its sessions' values come in turns, and the link of one is lost: the other one's value is the next that comes.
    @Test func `what a consumer of a fleet leaves has the end of a link in that session alone`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let other = bench.air.adapter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: other) { try await Bench.sendForEver($0, bench) } }
                try await bench.central.withFleet { fleet in
                    let sessions = [bench.peripheral, bench.central.peripheral(other.address)].map {
                        fleet.add(Session.Plan($0).subscribing(to: Bench.notifying))
                    }
                    for session in sessions { try await session.ready() }
                    bench.air.faults.add(
                        .dropLink(after: 5, .notifications),
                        between: bench.centralAdapter,
                        and: bench.peripheralAdapter
                    )
                    for try await _ in fleet.values {
                        try await bench.time.sleep(for: .seconds(30))
                        break
                    }
                    let gaps = try await Self.gaps(sessions)
                    #expect(gaps == [1, 0])
                }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `the end of a link is told, though what is kept of the next one takes the room of the former's`()
        async throws
    {
        try await Bench.run(serve: Bench.sendNumbers(1100)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                #expect(UInt32(octets: try await session.notifications(of: Bench.notifying).first()) == 0)
                try await bench.time.sleep(for: .seconds(60))
                let items = try await session.notifications(of: Bench.notifying).withGaps().collect(2)
                #expect((items[0].gap?.reason as? BLEError)?.reason?.kind == .supervisionTimeout)
                #expect(items[0].gap?.dropped == 85 && items[1].value.map { UInt32(octets: $0) } == 76)
            }
        }
    }

    /// A consumer of both takes one value of the first, and leaves the other one's dropped values untold.
    @Test func `how many values were dropped is told in full, also if several consumers have left`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            for number in 0..<UInt32(1110) {
                if number == 1100 { try await bench.time.sleep(for: .seconds(60)) }
                try await server.notify(number.octets, of: Bench.counter)
                if number == 0 { try await server.notify(number.octets, of: Bench.notifying) }
            }
            for try await _ in server.centralEvents {}
        }
        try await Bench.run(serve: serve) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.counter)
            try await bench.central.withSession(plan) { session in
                try await bench.time.sleep(for: .seconds(60))
                #expect(try await session.values.first().subscription == plan.subscriptions[0])
                try await bench.time.sleep(for: .seconds(60))
                let items = try await session.notifications(of: Bench.counter).withGaps().collect(2)
                #expect(items[0].gap?.dropped == 86 && items[1].value.map { UInt32(octets: $0) } == 86)
            }
        }
    }

    /// How many gaps each session's next consumer is told of.
    private static func gaps(_ sessions: [Session]) async throws -> [Int] {
        var gaps: [Int] = []
        for session in sessions {
            let items = try await session.notifications(of: Bench.notifying).withGaps().collect(20)
            gaps.append(items.count { $0.gap != nil })
        }
        return gaps
    }
}
