import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Peripherals that connect well, and drop each link: they are left alone for longer each time.
@Suite(.timeLimit(.minutes(10))) struct FlappingTests {
    /// How often a peripheral is connected to in a minute at most, by the standard policy: after 0, 0.25, 0.75 … 31.75
    /// s.
    private static let most = 10

    /// Drops each link at the first such PDU, for a minute and longer.
    private static func dropEach(_ pdus: PDUFilter, _ bench: Bench) {
        bench.air.faults.add(.dropLink(insteadOf: pdus).always())
    }

    /// The value of a Client Characteristic Configuration that is written to the bench's own service.
    private static let subscription = PDUFilter.where { $0.count == 5 && $0[0] == 0x12 && $0[1] > 0x0D && $0[3] != 0 }

    private static func check(_ transitions: [Session.Transition], _ time: VirtualTime) {
        let links = transitions.filter { $0.cause?.trigger.kind == .linkEstablished }
        #expect(links.count > 4 && links.count <= most, "\(links.count) links")
        let pauses = transitions.compactMap { transition -> Duration? in
            guard case .disconnected(.waitingToReconnect(_, .delay(let delay))) = transition.state else { return nil }
            return delay
        }
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 < $1 || $1 > .seconds(24) }, "\(pauses)")
    }

    @Test func `one that drops at a subscription that a stream makes is backed off`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            Self.dropEach(Self.subscription, bench)
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let end = bench.time.after(.seconds(60))
                async let transitions = session.states.take(until: end).collect()
                let values = try await session.notifications(of: Bench.notifying).take(until: end).collect()
                #expect(values.isEmpty)
                Self.check(try await transitions, bench.time)
            }
        }
    }

    @Test(arguments: [PDUFilter.notifications, subscription])
    func `one that drops at, or right after, a subscription of the plan is backed off`(_ pdus: PDUFilter) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            Self.dropEach(pdus, bench)
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let transitions = try await session.states.take(until: bench.time.after(.seconds(60))).collect()
                Self.check(transitions, bench.time)
            }
        }
    }

    @Test func `a fleet backs it off too, and the others go on`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let steady = bench.air.adapter()
            bench.air.faults.add(.dropLink(insteadOf: .notifications).always(), on: bench.peripheralAdapter)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: steady) { try await Bench.sendForEver($0, bench) }
                }
                try await bench.central.withFleet { fleet in
                    let flapping = fleet.add(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
                    let other = fleet.add(Session.Plan(steady.address).subscribing(to: Bench.notifying))
                    let end = bench.time.after(.seconds(60))
                    async let values = other.notifications(of: Bench.notifying).take(until: end).collect()
                    let transitions = try await fleet.transitions.take(until: end).collect()
                    Self.check(transitions.filter { $0.session === flapping }, bench.time)
                    let numbers = try await values.map { UInt32(octets: $0) }
                    #expect(numbers.count > 50 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
                }
                group.cancelAll()
            }
        }
    }

    @Test func `a stream of a peripheral that is retried backs it off, also where each link brings values`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let stream = bench.peripheral.stream { $0.notifications(of: Bench.notifying) }
            bench.air.faults.add(.dropLink(after: 2, .notifications).always())
            let end = bench.time.after(.seconds(60))
            async let states = bench.peripheral.connectionStates.take(until: end).collect()
            let values = try await stream.retry().take(until: end).collect()
            let links = try await states.filter { $0 == .connected }
            #expect(!values.isEmpty && links.count <= Self.most, "\(links.count) links")
        }
    }

    @Test func `a policy with so many attempts gives it up`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            Self.dropEach(.notifications, bench)
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = .exponential(attempts: 3)
            try await bench.central.withSession(plan) { session in
                let error = await bleError { for try await _ in session.values {} }
                #expect(error?.code == .disconnected && session.state.kind == .failed)
            }
        }
    }

    @Test func `one that was stable for as long as the policy says begins with the first pause again`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            bench.air.faults.add(.loseLinks(every: .seconds(300)))
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = .exponential(stableAfter: .seconds(1))
            try await bench.central.withSession(plan) { session in
                let transitions = try await session.states.take(until: bench.time.after(.seconds(3600))).collect()
                var ready = Duration.zero
                var losses = 0
                for transition in transitions {
                    if transition.state.isReady, transition.previous?.kind != .ready { ready = transition.time }
                    guard case .disconnected(.waitingToReconnect(let failure, .delay)) = transition.state,
                        transition.previous?.isReady == true, transition.time - ready >= .seconds(1)
                    else { continue }
                    losses += 1
                    #expect(failure == 1)
                }
                #expect(losses > 3)
            }
        }
    }
}

extension VirtualTime {
    /// An element, so long after it is iterated.
    func after(_ delay: Duration) -> BLEStream<Void> {
        BLEStream(timeline: self) { feed in
            let timer = self.schedule(after: delay) { feed.send(()) }
            return { timer.cancel() }
        }
    }
}
