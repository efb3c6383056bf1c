import BLESimulator
import Testing

@testable import BLEStreams

/// What a program asks of a session while it runs: to leave, to come back, to look for another one.
@Suite(.timeLimit(.minutes(10))) struct SessionControlTests {
    private static let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)

    private static func kinds(_ session: Session, until end: SessionState.Kind) async throws -> [SessionState.Kind] {
        try await session.states.take(until: { $0.state.kind == end }).map(\.state.kind).collect()
    }

    // MARK: - No reconnecting

    @Test(arguments: [AdapterInfo.State.poweredOff, .blocked, .absent, .resetting, .unauthorized])
    func `without reconnecting an adapter that goes is a failure, and nothing resumes when it returns`(
        _ state: AdapterInfo.State
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Self.plan
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                bench.centralAdapter.setState(state)
                let failed = try await session.states.first { $0.state.kind == .failed }
                guard case .failed(let error) = failed.state else { return }
                #expect(error.code == state.error(operation: "session")?.code && !error.remedy.isEmpty)
                bench.centralAdapter.powerOn()
                try await bench.time.sleep(for: .seconds(3600))
                #expect(session.state == failed.state && bench.centralAdapter.activity.isIdle)
                try session.reset()
                try await session.ready(timeout: .seconds(60))
            }
        }
    }

    @Test func `without reconnecting an adapter that is off when the session begins is a failure`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.powerOff()
            var plan = Self.plan
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in
                let error = await bleError { try await session.ready() }
                #expect(error?.code == .adapterPoweredOff)
                let kinds = try await Self.kinds(session, until: .failed)
                #expect(kinds == [.failed])
                // It is as it was before the reset: the next failure comes at once.
                try session.reset()
                let again = await bleError { try await session.ready() }
                #expect(again?.code == .adapterPoweredOff)
            }
        }
    }

    @Test(arguments: [AdapterInfo.State.unauthorized, .unsupported])
    func `an adapter that waiting doesn't help is a failure whatever the policy`(_ state: AdapterInfo.State)
        async throws
    {
        try await Bench.run { bench in
            bench.centralAdapter.setState(state)
            try await bench.central.withSession(Self.plan) { session in
                let error = await bleError { try await session.ready() }
                #expect(error?.code == state.error(operation: "session")?.code)
            }
        }
    }

    // MARK: - Leaving and coming back

    @Test func `disconnecting ends the link and stays so until connecting, and streams go on behind a gap`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Self.plan) { session in
                var values = session.notifications(of: Bench.notifying).withGaps().makeAsyncIterator()
                _ = try await values.next()
                await session.disconnect()
                #expect(session.state == .disconnected(.initial) && session.link == nil)
                #expect(bench.centralAdapter.activity.isIdle)
                #expect(bench.writes == [[1, 0], [0, 0]])
                try await bench.time.sleep(for: .seconds(3600))
                #expect(session.state == .disconnected(.initial) && bench.centralAdapter.activity.isIdle)
                // Twice is as good as once.
                await session.disconnect()
                try session.connect()
                try await session.ready(timeout: .seconds(30))
                var gaps = 0
                while let item = try await values.next() {
                    guard case .gap(let gap) = item else { continue }
                    #expect(gap.duration > .seconds(3600))
                    gaps += 1
                    break
                }
                let behind = try await values.next()
                #expect(gaps == 1 && behind?.value != nil, "the values go on")
                #expect(throws: SessionState.IllegalTrigger.self) { try session.connect() }
                #expect(throws: SessionState.IllegalTrigger.self) { try session.search() }
            }
        }
    }

    @Test func `what begins while it disconnects waits for the next link, as what begins later does`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Self.plan) { session in
                try await session.ready()
                // So that the notifications are still being switched off when the others come.
                bench.air.faults.add(.delay(.responses, by: .milliseconds(200)))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await session.disconnect() }
                    try await bench.time.sleep(for: .milliseconds(100))
                    #expect(session.state.isReady && session.link != nil)
                    group.addTask {
                        let value = try await session.read(Bench.readable)
                        #expect(Array(value) == [1, 2, 3])
                    }
                    group.addTask {
                        let value = try await session.queue.run(.read(Bench.readable))
                        #expect(Array(value) == [1, 2, 3])
                    }
                    group.addTask {
                        try await session.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                    }
                    try await bench.time.sleep(for: .seconds(60))
                    #expect(session.state == .disconnected(.initial))
                    try session.connect()
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a session that is disconnected before it runs doesn't begin by itself`() async throws {
        try await Bench.run { bench in
            let session = bench.central.session(Self.plan)
            await session.disconnect()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await bench.time.sleep(for: .seconds(60))
                #expect(session.state == .disconnected(.initial))
                try session.connect()
                try await session.ready(timeout: .seconds(60))
                session.stop()
                try await group.waitForAll()
            }
            await session.disconnect()
        }
    }

    @Test func `a session that is stopped just as its cancelled run ends has its queue ended`() async throws {
        try await Bench.run { bench in
            let session = bench.central.session(Self.plan)
            let isFirst = session.orders.beginDriving {}
            #expect(isFirst)
            // The run's task was cancelled, so who waits is told of the end, and may stop the session then.
            session.end()
            session.stop()
            session.endDriving()
            let contents = try await session.queue.contents.timeout(.seconds(1), for: .wholeStream).collect()
            #expect(contents.count == 1)
        }
    }

    @Test func `a session that is run again as its cancelled run ends, and then stopped, ends with its new run`()
        async throws
    {
        try await Bench.run { bench in
            let session = bench.central.session(Self.plan)
            _ = session.orders.beginDriving {}
            // Called where nobody runs the session any more.
            _ = session.orders.disconnect {
                _ = session.orders.beginDriving {}
                session.stop()
            }
            session.endDriving()
            let contents = session.queue.contents.timeout(.seconds(1), for: .wholeStream)
            let error = await bleError { _ = try await contents.collect() }
            #expect(error?.code == .timedOut)
            session.endDriving()
            _ = try await contents.collect()
        }
    }

    @Test func `searching again finds another one`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await bench.central.withSession(Self.plan) { session in
                    try await session.ready()
                    #expect(session.peripheral?.address == bench.peripheralAdapter.address)
                    await session.disconnect()
                    bench.peripheralAdapter.powerOff()
                    let other = bench.air.adapter()
                    group.addTask {
                        try await Bench.description.run(on: .radio(other)) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    try session.search()
                    #expect(session.state.kind == .scanning)
                    try await session.ready(timeout: .seconds(30))
                    #expect(session.peripheral?.address == other.address)
                }
                group.cancelAll()
            }
        }
    }

    @Test(arguments: [false, true])
    func `a request that is refused changes nothing: the next link is made to the same one, without a search`(
        _ resets: Bool
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Self.plan) { session in
                try await session.ready()
                #expect(throws: SessionState.IllegalTrigger.self) {
                    if resets { try session.reset() } else { try session.search() }
                }
                bench.air.faults.add(.dropLink(after: Duration.zero))
                let resumed = try await session.states.first { $0.cause?.trigger.kind == .resume }
                #expect(resumed.state.kind == .connecting)
                try await session.ready(timeout: .seconds(60))
            }
        }
    }

    @Test func `a session with an address waits, when it searches, until that one is heard`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.limits.search = nil
            try await bench.central.withSession(plan) { session in
                await session.disconnect()
                bench.air.faults.add(.outOfRange(lasting: .seconds(600)), on: bench.peripheralAdapter)
                try session.search()
                try await bench.time.sleep(for: .seconds(500))
                #expect(session.state.kind == .scanning)
                try await session.ready(timeout: .seconds(200))
            }
        }
    }

    @Test func `connecting ends a long pause`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = .constant(.seconds(3600))
            bench.air.faults.add(.dropLink(after: .seconds(5)))
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                _ = try await session.states.first { $0.state.kind == .waitingToReconnect }
                try session.connect()
                try await session.ready(timeout: .seconds(5))
            }
        }
    }

    @Test(arguments: [SessionState.Kind.scanning, .connecting, .discoveringServices, .subscribing, .ready])
    func `disconnecting and losing the adapter do in every state what they say`(_ kind: SessionState.Kind)
        async throws
    {
        for seed in 1...4 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
                // So that each step can be met.
                bench.air.faults.add(.delayConnections(by: .seconds(1)))
                bench.air.faults.add(.delay(.responses, by: .milliseconds(200)))
                var plan = Self.plan
                plan.limits.search = nil
                try await bench.central.withSession(plan) { session in
                    for _ in 0..<2 {
                        _ = try await session.states.first { $0.state.kind == kind }
                        await session.disconnect()
                        #expect(session.state == .disconnected(.initial), "seed \(seed)")
                        #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
                        try session.search()
                    }
                    for state in [AdapterInfo.State.poweredOff, .resetting] {
                        _ = try await session.states.first { $0.state.kind == kind }
                        bench.centralAdapter.setState(state)
                        let waiting = try await session.states.first { $0.state.kind == .waitingToReconnect }
                        #expect(
                            waiting.state == .disconnected(.waitingToReconnect(attempt: 0, until: .adapter(state))),
                            "seed \(seed)"
                        )
                        #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
                        bench.centralAdapter.powerOn()
                        try await session.ready(timeout: .seconds(60))
                        await session.disconnect()
                        try session.search()
                    }
                    try await session.ready(timeout: .seconds(60))
                }
            }
        }
    }

    @Test func `a stream that ends switches its notifications off, and the states say so`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                async let off = session.states.first { $0.cause?.trigger.kind == .unsubscribe }
                _ = try await session.notifications(of: Bench.notifying).first()
                let transition = try await off
                #expect(transition.state.isReady && transition.previous?.isReady == true)
                #expect(transition.cause?.description.contains("A003") == true)
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.writes == [[1, 0], [0, 0]])
                // And on again.
                _ = try await session.notifications(of: Bench.notifying).first()
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.writes == [[1, 0], [0, 0], [1, 0], [0, 0]])
            }
        }
    }

    // MARK: - Who runs it

    @Test func `running a session that is being run is busy at once, whoever is quicker`() async throws {
        for seed in 1...60 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed) { bench in
                try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                    let error = await bleError { try await session.run() }
                    #expect(error?.code == .busy, "seed \(seed)")
                    try await session.ready(timeout: .seconds(30))
                }
                try await bench.central.withFleet { fleet in
                    let session = fleet.add(Session.Plan(bench.peripheral))
                    let error = await bleError { try await session.run() }
                    #expect(error?.code == .busy, "seed \(seed)")
                    try await session.ready(timeout: .seconds(30))
                    #expect(fleet.sessions.count == 1, "seed \(seed)")
                }
            }
        }
    }
}
