import BLERadio
import BLESimulator
import BLEStreams
import Testing

@Suite struct LinkConditionsTests {
    @Test func `a link has the parameters of its call, of its peripheral, or of its central, in this order`()
        async throws
    {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), parameters: .lowPower)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            let common = try await peripheral.withLink { try await $0.conditions() }
            #expect(common.interval == .milliseconds(125))
            #expect(common.latency == 2)
            #expect(common.supervisionTimeout == .seconds(6))
            #expect(common.rssi == -60)
            #expect(common.whyIncomplete == nil)

            try await peripheral.prefer(.fast)
            let preferred = try await peripheral.withLink { try await $0.conditions() }
            #expect(preferred.interval == .milliseconds(15))

            let own = try await peripheral.withLink(parameters: .balanced) { try await $0.conditions() }
            #expect(own.interval == .milliseconds(50))

            try await peripheral.prefer(nil)
            let again = try await peripheral.withLink { try await $0.conditions() }
            #expect(again.interval == .milliseconds(125))
        }
    }

    @Test func `what is preferred changes the link that is up, and the stream tells`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: .balanced) { link in
                async let told = link.conditionChanges.map(\.interval).collect(3)
                try await bench.time.sleep(for: .seconds(1))
                try await bench.peripheral.prefer(.fast)
                try await bench.time.sleep(for: .seconds(1))
                try await bench.peripheral.prefer(.lowPower)
                #expect(try await told == [.milliseconds(50), .milliseconds(15), .milliseconds(125)])
                // It carries as before.
                #expect(Array(try await link.read(Bench.readable)) == [1, 2, 3])
            }
        }
    }

    @Test func `what is preferred while a link is being made applies to that link, unless its call says otherwise`()
        async throws
    {
        try await Bench.run { bench in
            let (near, far) = (bench.centralAdapter, bench.peripheralAdapter)
            let calls: [(parameters: ConnectionParameters?, interval: Duration)] = [
                (nil, .milliseconds(15)), (ConnectionParameters.balanced, .milliseconds(50)),
            ]
            for (parameters, interval) in calls {
                bench.air.setSignal(.outOfRange, between: near, and: far)
                async let made = bench.peripheral.withLink(parameters: parameters) { link in
                    try await bench.time.sleep(for: .seconds(1))
                    return try await link.conditions().interval
                }
                try await bench.time.sleep(for: .seconds(1))
                #expect(near.activity.connecting == [far.address])
                try await bench.peripheral.prefer(.fast)
                bench.air.setSignal(.dBm(-60), between: near, and: far)
                #expect(try await made == interval)
                try await bench.peripheral.prefer(nil)
            }
        }
    }

    @Test func `a call that is cancelled as it connects leaves no parameters behind to those who wait with it`()
        async throws
    {
        try await Bench.run { bench in
            let (near, far) = (bench.centralAdapter, bench.peripheralAdapter)
            let common = try await bench.peripheral.withLink { try await $0.conditions().interval }
            #expect(common == .milliseconds(30))
            let calls: [(parameters: ConnectionParameters?, interval: Duration?)] = [
                (nil, common), (ConnectionParameters.lowPower, .milliseconds(125)),
            ]
            for (parameters, interval) in calls {
                bench.air.setSignal(.outOfRange, between: near, and: far)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            try await bench.peripheral.withLink(parameters: .fast) { _ in }
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    async let made = bench.peripheral.withLink(parameters: parameters) { link in
                        try await link.conditions().interval
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                    try await group.waitForAll()
                    #expect(near.activity.connecting == [far.address])
                    bench.air.setSignal(.dBm(-60), between: near, and: far)
                    #expect(try await made == interval)
                }
            }
        }
    }

    @Test func `a call that is cancelled while its link is prepared leaves the others a link with their parameters`()
        async throws
    {
        try await Bench.run { bench in
            // The negotiation of the MTU takes its five seconds.
            bench.air.faults.add(.swallow(.opcode(0x02)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await bench.peripheral.withLink(parameters: .fast) { _ in }
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                async let made = bench.peripheral.withLink(parameters: .lowPower) { link in
                    try await bench.time.sleep(for: .seconds(1))
                    return try await link.conditions().interval
                }
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.centralAdapter.activity.links == [bench.peripheralAdapter.address])
                group.cancelAll()
                try await group.waitForAll()
                #expect(try await made == .milliseconds(125))
            }
        }
    }

    @Test func `a link lives through a silence that is shorter than its supervision timeout`() async throws {
        try await Bench.run { bench in
            let signal = bench
            try await bench.peripheral.withLink(parameters: .balanced) { link in
                for silence in [Duration.seconds(4), .seconds(6)] {
                    signal.air.setSignal(.outOfRange, between: bench.centralAdapter, and: bench.peripheralAdapter)
                    try await bench.time.sleep(for: silence)
                    signal.air.setSignal(.dBm(-60), between: bench.centralAdapter, and: bench.peripheralAdapter)
                    guard silence > .seconds(5) else {
                        _ = try await link.read(Bench.readable)
                        continue
                    }
                    let error = await bleError { _ = try await link.read(Bench.readable) }
                    #expect(error?.reason?.kind == .supervisionTimeout)
                }
            }
        }
    }

    @Test func `the stream of conditions ends with the link`() async throws {
        try await Bench.run { bench in
            var changes: BLEStream<LinkConditions>?
            try await bench.peripheral.withLink { link in changes = link.conditionChanges }
            let stream = try #require(changes)
            // Closed by this side: it ends without an error.
            _ = try await stream.collect()

            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    for try await _ in link.conditionChanges { bench.peripheralAdapter.powerOff() }
                }
            }
            #expect(error?.code == .disconnected)
        }
    }

    @Test func `a session's links have the parameters of its plan`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.parameters = .fast
            try await bench.central.withSession(plan) { session in
                _ = try await session.read(Bench.readable)
                let conditions = try await bench.peripheral.withLink { try await $0.conditions() }
                #expect(conditions.interval == .milliseconds(15))
            }
        }
    }

    // MARK: - Limits

    private static func limited(_ corrections: Int) throws -> ConnectionParameters {
        let limits = try ConnectionParameters.Limits(
            interval: .milliseconds(20) ... .milliseconds(100),
            corrections: corrections
        )
        return try ConnectionParameters.balanced.limited(to: limits)
    }

    @Test func `a peripheral that asks for too much is brought back, and the stream tells both`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: try Self.limited(3)) { link in
                async let told = link.conditionChanges.collect(3)
                try await bench.time.sleep(for: .seconds(1))
                bench.peripheralAdapter.request(try .slow, from: bench.centralAdapter)
                let elements = try await told
                #expect(elements.map(\.interval) == [.milliseconds(50), .seconds(1), .milliseconds(50)])
                #expect(
                    elements.map(\.breach) == [
                        nil, ConnectionParameters.LimitBreach(corrections: 1, isFinal: false), nil,
                    ]
                )
                #expect(Array(try await link.read(Bench.readable)) == [1, 2, 3])
            }
        }
    }

    @Test func `a peripheral that insists gets its way in the end, and that is told once`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: try Self.limited(2)) { link in
                var breaches: [ConnectionParameters.LimitBreach?] = []
                for try await conditions in link.conditionChanges {
                    breaches.append(conditions.breach)
                    if conditions.breach?.isFinal == true { break }
                    // Whenever it is brought back, it asks again.
                    if conditions.breach == nil {
                        bench.peripheralAdapter.request(try .slow, from: bench.centralAdapter)
                    }
                }
                let asked = (1...2).map { ConnectionParameters.LimitBreach(corrections: $0, isFinal: false) }
                #expect(
                    breaches == [
                        nil, asked[0], nil, asked[1], nil,
                        ConnectionParameters.LimitBreach(corrections: 2, isFinal: true),
                    ]
                )
                let conditions = try await link.conditions()
                #expect(conditions.interval == .seconds(1))
                #expect(conditions.breach?.isFinal == true)
            }
        }
    }

    @Test func `limits hold though nobody looks, and what they have cost is forgotten after a minute`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: try Self.limited(1)) { link in
                for _ in 1...3 {
                    bench.peripheralAdapter.request(try .slow, from: bench.centralAdapter)
                    try await bench.time.sleep(for: .seconds(70))
                    #expect(try await link.conditions().interval == .milliseconds(50))
                }
            }
        }
    }

    @Test func `each link of a session begins with its limits, and with all its corrections`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.parameters = try Self.limited(1)
            try await bench.central.withSession(plan) { session in
                for _ in 1...3 {
                    _ = try await session.read(Bench.readable)
                    bench.peripheralAdapter.request(try .slow, from: bench.centralAdapter)
                    try await bench.time.sleep(for: .seconds(2))
                    let conditions = try await bench.peripheral.withLink { try await $0.conditions() }
                    #expect(conditions.interval == .milliseconds(50))
                    #expect(conditions.breach == nil)
                    bench.air.setSignal(.outOfRange, between: bench.centralAdapter, and: bench.peripheralAdapter)
                    try await bench.time.sleep(for: .seconds(6))
                    bench.air.setSignal(.dBm(-60), between: bench.centralAdapter, and: bench.peripheralAdapter)
                }
            }
        }
    }

    @Test func `what is preferred later replaces the limits, and is not taken for a breach of the former ones`()
        async throws
    {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: try Self.limited(3)) { link in
                try await bench.peripheral.prefer(.lowPower)
                try await bench.time.sleep(for: .seconds(2))
                #expect(try await link.conditions().interval == .milliseconds(125))
                bench.peripheralAdapter.request(try .slow, from: bench.centralAdapter)
                try await bench.time.sleep(for: .seconds(2))
                #expect(try await link.conditions().interval == .seconds(1))

                try await bench.peripheral.prefer(Self.limited(3))
                try await bench.time.sleep(for: .seconds(2))
                let conditions = try await link.conditions()
                #expect(conditions.interval == .milliseconds(50))
                #expect(conditions.breach == nil)
            }
        }
    }
}

extension ConnectionParameters {
    /// What a sensor asks for that wants to sleep.
    fileprivate static var slow: ConnectionParameters {
        get throws(BLEError) {
            try ConnectionParameters(interval: .seconds(1) ... .seconds(1), supervisionTimeout: .seconds(6))
        }
    }
}
