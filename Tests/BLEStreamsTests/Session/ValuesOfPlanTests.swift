import BLESimulator
import BLEStreams
import Testing

/// The values of all subscriptions of a plan as one stream.
@Suite(.timeLimit(.minutes(10))) struct ValuesOfPlanTests {
    /// Sends numbers of two characteristics, two of the first and then one of the second, as fast as the link takes
    /// them, once a central has subscribed to both.
    private static func send(_ count: UInt32) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            var subscribed: Set<String> = []
            for try await change in server.subscriptions() where change.isSubscribed {
                subscribed.insert(change.characteristic)
                guard subscribed.count == 2 else { continue }
                try await bench.time.sleep(for: .seconds(1))
                for number in 0..<count {
                    try await server.notify(number.octets, of: key(of: number), to: change.central)
                }
            }
        }
    }

    private static func key(of number: UInt32) -> BluetoothUUID { number % 3 == 2 ? Bench.counter : Bench.notifying }

    private static func plan(_ bench: Bench) -> Session.Plan {
        Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.counter)
    }

    @Test func `they come in the order of arrival, also to a consumer that is behind`() async throws {
        try await Bench.run(serve: Self.send(60)) { bench in
            try await bench.central.withSession(Self.plan(bench)) { session in
                var numbers: [UInt32] = []
                for try await item in session.values.timeout(.seconds(60)) {
                    let number = UInt32(octets: item.value)
                    numbers.append(number)
                    if numbers.count == 1 { try await bench.time.sleep(for: .seconds(10)) }
                    #expect(item.subscription == Session.Subscription(Self.key(of: number)))
                    if numbers.count == 60 { break }
                }
                #expect(numbers == Array(0..<60))
            }
        }
    }

    @Test func `a subscription that a plan has twice has each value once`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(20)) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let values = try await session.values.timeout(.seconds(60)).collect(20)
                #expect(values.map { UInt32(octets: $0.value) } == Array(0..<20))
            }
            try await bench.central.withFleet { fleet in
                fleet.add(plan)
                let values = try await fleet.values.timeout(.seconds(60)).collect(20)
                #expect(values.map { UInt32(octets: $0.value) } == Array(0..<20))
            }
        }
    }

    /// Sends whoever subscribes one value of that characteristic.
    private static let greet: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for key in [Bench.notifying, Bench.counter] {
                group.addTask {
                    for try await change in server.subscriptions(of: key) where change.isSubscribed {
                        try await server.notify([1], of: key, to: change.central)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [false, true]) func `a break of the link is one gap, however many subscriptions`(
        isBehind: Bool
    ) async throws {
        try await Bench.run(serve: Self.greet) { bench in
            try await bench.central.withSession(Self.plan(bench)) { session in
                var items = session.values.withGaps().timeout(.seconds(60)).makeAsyncIterator()
                for _ in 0..<2 {
                    let value = try await items.next()?.value
                    #expect(value != nil)
                }
                let start = bench.time.now
                bench.air.faults.add(.dropLink(after: .zero, reason: .supervisionTimeout))
                if isBehind {
                    _ = try await session.states.first { $0.state.kind == .waitingToReconnect }
                    try await session.ready(timeout: .seconds(30))
                }
                let item = try await items.next()
                let gap = try #require(item?.gap)
                #expect(gap.duration > .zero && gap.duration <= bench.time.now - start)
                #expect((gap.reason as? BLEError)?.reason?.kind == .supervisionTimeout)
                var subscriptions: Set<Session.Subscription> = []
                for _ in 0..<2 {
                    if let value = try await items.next()?.value { subscriptions.insert(value.subscription) }
                }
                #expect(subscriptions.count == 2)
            }
        }
    }

    /// The first stream has taken all, and leaves before the link is lost. Nothing comes before the next one begins.
    @Test func `a break of the link that several subscriptions report at one place lasts as long as it did`()
        async throws
    {
        let greet: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for key in [Bench.notifying, Bench.counter] {
                    group.addTask {
                        for try await change in server.subscriptions(of: key) where change.isSubscribed {
                            // Late on the second link.
                            if bench.time.now > .seconds(15) { try await bench.time.sleep(for: .seconds(300)) }
                            try await server.notify([1], of: key, to: change.central)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await Bench.run(serve: greet) { bench in
            try await bench.central.withSession(Self.plan(bench)) { session in
                _ = try await session.values.timeout(.seconds(60)).collect(2)
                let start = bench.time.now
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(20))
                bench.centralAdapter.powerOn()
                try await session.ready(timeout: .seconds(30))
                let limit = bench.time.now - start
                let items = try await session.values.withGaps().collect(3)
                let gap = try #require(items[0].gap)
                #expect(gap.duration > .seconds(20) && gap.duration <= limit)
                #expect(items[1].gap == nil && items[2].gap == nil)
            }
        }
    }

    @Test func `what a stream that was stopped has not delivered is the next one's`() async throws {
        try await Bench.run(serve: Self.send(60)) { bench in
            try await bench.central.withSession(Self.plan(bench)) { session in
                var numbers: [UInt32] = []
                for try await item in session.values.prefix(for: .seconds(20)) {
                    numbers.append(UInt32(octets: item.value))
                    // The time is over while the consumer is busy, and then it leaves.
                    if numbers.count == 5 { try await bench.time.sleep(for: .seconds(40)) }
                    if numbers.count == 10 { break }
                }
                #expect(numbers == Array(0..<10))
                let rest = try await session.values.timeout(.seconds(60)).collect(50)
                // Subscription after subscription.
                let all = Array(10..<60 as Range<UInt32>)
                let expected = all.filter { $0 % 3 != 2 } + all.filter { $0 % 3 == 2 }
                #expect(rest.map { UInt32(octets: $0.value) } == expected)
            }
        }
    }
}
