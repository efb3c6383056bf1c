import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct SessionTests {
    private static let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)

    private static let wholeWay: [SessionState.Kind] = [
        .initial, .scanning, .discovered, .connecting, .idle, .discoveringServices, .servicesReady,
        .discoveringCharacteristics, .discoveredCharacteristic, .subscribing, .notificationsEnabled, .ready,
    ]

    @Test func `a plain session goes through both lists of states in order, each with its cause`() async throws {
        // Whether the watcher or the session comes first is a matter of the seed: who comes second has missed the
        // initial state, and nothing else.
        let whole = Mutex(0)
        for seed in 1...8 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Bench.sendNumbers(10)) { bench in
                try await bench.central.withSession(Self.plan) { session in
                    async let transitions = session.states.take(until: { $0.state.isReady }).collect()
                    let numbers = try await session.notifications(of: Bench.notifying)
                        .map { UInt32(octets: $0) }.collect(10)
                    #expect(numbers == Array(0..<10))
                    let seen = try await transitions
                    let isWhole = seen.first?.state.kind == .initial
                    #expect(seen.map(\.state.kind) == Array(Self.wholeWay.dropFirst(isWhole ? 0 : 1)), "seed \(seed)")
                    #expect((seen.first?.cause == nil) == isWhole && seen.dropFirst().allSatisfy { $0.cause != nil })
                    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.state == $1.previous && $0.time <= $1.time })
                    if isWhole { whole.withLock { $0 += 1 } }
                }
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.centralAdapter.activity.isIdle)
            }
        }
        #expect(whole.withLock { $0 } > 0)
    }

    @Test func `a new watcher gets the present state first`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                let now = try await session.states.first()
                #expect(now.state == .connected(.ready) && session.state.isReady)
            }
        }
    }

    @Test func `streams outlive the link, with a gap for those who ask`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(30)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            try await bench.central.withSession(Self.plan) { session in
                var numbers: [UInt32] = []
                var gaps: [StreamGap] = []
                for try await item in session.notifications(of: Bench.notifying).withGaps() {
                    switch item {
                    case .value(let value): numbers.append(UInt32(octets: value))
                    case .gap(let gap):
                        gaps.append(gap)
                        #expect(numbers.count == 10)
                    }
                    if numbers.count == 40 { break }
                }
                #expect(numbers == Array(0..<10) + Array(0..<30))
                #expect(gaps.count == 1)
                let reason = (gaps.first?.reason as? BLEError)?.reason
                #expect(reason?.kind == .supervisionTimeout && gaps.first?.duration ?? .zero > .milliseconds(100))
            }
        }
    }

    @Test func `the first steps of the program run on each link`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(30)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            let links = Mutex(0)
            try await bench.central.withSession(
                Self.plan,
                initialise: { link in
                    try await link.write([9], to: Bench.readable)
                    links.withLock { $0 += 1 }
                }
            ) { session in
                _ = try await session.notifications(of: Bench.notifying).collect(20)
            }
            #expect(links.withLock { $0 } == 2)
        }
    }

    @Test func `reading and writing are states too, and wait for the session to be ready`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                async let transitions = session.states.take(until: { $0.previous?.kind == .writing }).collect()
                let value = try await session.read(Bench.readable)
                #expect(Array(value) == [1, 2, 3])
                try await session.write([4], to: Bench.readable)
                let kinds = try await transitions.map(\.state.kind)
                #expect(kinds.suffix(5) == [.ready, .reading, .ready, .writing, .ready])
                let error = await bleError { _ = try await session.read(.uuid(Bench.notifying, in: .heartRate)) }
                #expect(error?.code == .notFound && session.state.isReady)
            }
        }
    }

    @Test(arguments: [CharacteristicOperation.read, .write])
    func `an operation that fails because another link has ended leaves the session ready`(
        operation: CharacteristicOperation
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let other = try await bench.peripheral.withLink { $0 }
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let error = await bleError {
                    try await session.withLink(for: operation, timeout: nil) { _ in
                        _ = try await other.read(Bench.readable)
                    }
                }
                #expect(error?.code == .disconnected)
                try #require(session.state.isReady, "\(session.state)")
                let value = try await session.read(Bench.readable, timeout: .seconds(5))
                #expect(Array(value) == [1, 2, 3])
                _ = try await session.notifications(of: Bench.notifying).first()
            }
        }
    }

    @Test func `an adapter that goes and comes back is waited for, and the state says so`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Self.plan) { session in
                var values = session.notifications(of: Bench.notifying).withGaps().makeAsyncIterator()
                var gaps = 0
                _ = try await values.next()
                for (away, state) in [
                    ({ bench.centralAdapter.powerOff() }, AdapterInfo.State.poweredOff),
                    ({ bench.centralAdapter.block() }, .blocked), ({ bench.centralAdapter.unplug() }, .absent),
                ] {
                    away()
                    let waiting = try await session.states.first { $0.state.kind == .waitingToReconnect }
                    #expect(waiting.state == .disconnected(.waitingToReconnect(attempt: 0, until: .adapter(state))))
                    try await bench.time.sleep(for: .seconds(3600))
                    #expect(session.state == waiting.state)
                    bench.centralAdapter.powerOn()
                    try await session.ready(timeout: .seconds(30))
                    while let item = try await values.next() {
                        if case .gap(let gap) = item {
                            #expect(gap.duration > .seconds(3600))
                            gaps += 1
                            break
                        }
                    }
                }
                #expect(gaps == 3)
            }
        }
    }

    @Test func `a session that is begun without an adapter waits for it`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.powerOff()
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await bench.time.sleep(for: .seconds(60))
                #expect(session.state.kind == .waitingToReconnect)
                bench.centralAdapter.powerOn()
                try await session.ready(timeout: .seconds(30))
            }
        }
    }

    @Test func `leaving switches notifications off before the link is dropped`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Self.plan) { session in
                _ = try await session.notifications(of: Bench.notifying).first()
            }
            #expect(bench.writes == [[1, 0], [0, 0]])
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a stream that nobody planned is switched on at once, and off with its last consumer`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                _ = try await session.notifications(of: Bench.notifying).first()
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.writes == [[1, 0], [0, 0]])
                let error = await bleError {
                    _ = try await session.notifications(of: Bench.readOnly).first()
                }
                #expect(error?.code == .notSupported && session.state.isReady)
            }
        }
    }

    @Test func `the strongest of several is taken`() async throws {
        try await Bench.run { bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let near = bench.air.adapter()
                bench.air.setSignal(.dBm(-40), between: near, and: bench.centralAdapter)
                group.addTask { try await Bench.description.run(on: near) }
                let plan = Session.Plan(
                    finding: .service(BluetoothUUID(0xA000)),
                    choosing: .strongest(within: .seconds(2))
                )
                try await bench.central.withSession(plan) { session in
                    try await session.ready()
                    #expect(session.peripheral?.address == near.address && session.name == "Bench")
                }
                group.cancelAll()
            }
        }
    }

    @Test func `a session can be run once at a time`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                let error = await bleError { try await session.run() }
                #expect(error?.code == .busy)
            }
        }
    }
}
