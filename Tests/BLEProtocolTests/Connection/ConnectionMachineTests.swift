import BLEProtocol
import Testing

@Suite struct ConnectionMachineTests {
    /// What each state must accept, and where it must be able to lead; written by hand from the design, so that a
    /// change of the table doesn't pass unseen.
    static let expected: [SessionState.Kind: [SessionState.Trigger.Kind: Set<SessionState.Kind>]] = {
        let linked: [SessionState.Trigger.Kind: Set<SessionState.Kind>] = [
            .linkLost: [.waitingToReconnect, .failed], .adapterLost: [.waitingToReconnect, .failed],
            .disconnect: [.initial],
        ]
        func connected(
            _ own: [SessionState.Trigger.Kind: Set<SessionState.Kind>]
        ) -> [SessionState.Trigger.Kind: Set<SessionState.Kind>] {
            linked.merging(own) { first, _ in first }
        }
        let trouble: Set<SessionState.Kind> = [.waitingToReconnect, .failed]
        let origins: Set<SessionState.Kind> = [
            .idle, .servicesReady, .discoveredCharacteristic, .notificationsEnabled, .ready,
        ]
        return [
            .initial: [
                .scan: [.scanning], .connect: [.connecting], .adapterLost: trouble, .disconnect: [.initial],
            ],
            .scanning: [
                .discovered: [.discovered], .searchFailed: trouble, .scanFailed: trouble, .adapterLost: trouble,
                .disconnect: [.initial],
            ],
            .discovered: [.connect: [.connecting], .adapterLost: trouble, .disconnect: [.initial]],
            .connecting: [
                .linkEstablished: [.idle], .connectFailed: [.connecting, .waitingToReconnect, .failed],
                .adapterLost: trouble, .disconnect: [.initial],
            ],
            .waitingToReconnect: [
                .resume: [.connecting, .scanning], .adapterReturned: [.connecting, .scanning],
                .adapterLost: trouble, .disconnect: [.initial], .connect: [.connecting], .scan: [.scanning],
            ],
            .idle: connected([
                .discoverServices: [.discoveringServices], .read: [.reading], .write: [.writing],
                .becomeReady: [.ready], .initialisationFailed: trouble,
            ]),
            .discoveringServices: connected([
                .servicesDiscovered: [.servicesReady], .discoveryFailed: trouble, .notFound: trouble,
            ]),
            .servicesReady: connected([
                .discoverCharacteristics: [.discoveringCharacteristics], .read: [.reading], .write: [.writing],
                .becomeReady: [.ready], .initialisationFailed: trouble,
            ]),
            .discoveringCharacteristics: connected([
                .characteristicDiscovered: [.discoveredCharacteristic], .discoveryFailed: trouble,
                .notFound: trouble, .notSupported: trouble,
            ]),
            .discoveredCharacteristic: connected([
                .discoverCharacteristics: [.discoveringCharacteristics], .read: [.reading], .write: [.writing],
                .subscribe: [.subscribing], .becomeReady: [.ready], .initialisationFailed: trouble,
            ]),
            .reading: connected([
                .readFinished: origins, .operationFailed: origins.union([.waitingToReconnect]),
            ]),
            .writing: connected([
                .writeFinished: origins, .operationFailed: origins.union([.waitingToReconnect]),
            ]),
            .subscribing: connected([
                .subscribed: [.notificationsEnabled],
                .subscriptionRefused: [.discoveredCharacteristic, .notificationsEnabled, .ready, .waitingToReconnect],
                .subscriptionFailed: trouble, .notFound: trouble, .notSupported: trouble,
            ]),
            .notificationsEnabled: connected([
                .subscribe: [.subscribing], .unsubscribe: [.discoveredCharacteristic], .read: [.reading],
                .write: [.writing], .becomeReady: [.ready],
            ]),
            .ready: connected([
                .read: [.reading], .write: [.writing], .subscribe: [.subscribing], .unsubscribe: [.ready],
                .discoverServices: [.discoveringServices],
            ]),
            .failed: [.reset: [.initial]],
        ]
    }()

    @Test(arguments: SessionState.Kind.allCases)
    func `a state accepts what the design says, leads where it says, and refuses all else`(
        _ state: SessionState.Kind
    ) throws {
        let ways = Paths.all(to: state)
        #expect(!ways.isEmpty, "no way leads to \(state)")
        for trigger in SessionState.Trigger.Kind.allCases {
            var reached: Set<SessionState.Kind> = []
            var refusals = 0
            for machine in ways {
                for sample in Paths.samples(of: trigger) {
                    var copy = machine
                    do throws(SessionState.IllegalTrigger) {
                        try copy.handle(sample)
                        reached.insert(copy.state.kind)
                    } catch {
                        refusals += 1
                        if "\(copy)" != "\(machine)" { Issue.record("\(trigger) changed something in \(state)") }
                        if error.state != machine.state || error.trigger.kind != trigger
                            || !"\(error)".contains(state.words) || !"\(error)".contains(trigger.words)
                            || error.accepted.contains(trigger) || error.accepted.isEmpty
                        {
                            Issue.record("the error says something else: \(error)")
                        }
                    }
                }
            }
            let wanted = Self.expected[state]?[trigger] ?? []
            #expect(reached == wanted, "\(state), \(trigger)")
            #expect(wanted.isEmpty == (refusals > 0), "\(state), \(trigger): refused \(refusals) times")
        }
    }

    @Test func `every rule of the table is made use of`() throws {
        var unused = Set(ConnectionMachine.rules)
        for state in SessionState.Kind.allCases {
            for machine in Paths.all(to: state) {
                for sample in SessionState.Trigger.Kind.allCases.flatMap(Paths.samples) {
                    var copy = machine
                    guard let effects = try? copy.handle(sample) else { continue }
                    // The first rule that fits is the one that was used.
                    let used = unused.filter {
                        $0.from == state && $0.trigger == sample.kind && $0.to == copy.state.kind
                            && $0.effects == effects
                    }
                    unused.subtract(used)
                }
            }
        }
        #expect(unused.isEmpty, "\(unused)")
    }

    @Test func `both lists of states come in their order in a plain connection`() throws {
        var machine = ConnectionMachine()
        var seen = [machine.state.kind]
        for trigger in Paths.plain {
            try machine.handle(trigger)
            seen.append(machine.state.kind)
        }
        #expect(
            seen == [
                .initial, .scanning, .discovered, .connecting, .idle, .discoveringServices, .servicesReady,
                .discoveringCharacteristics, .discoveredCharacteristic, .subscribing, .notificationsEnabled, .ready,
            ]
        )
    }

    @Test func `pauses follow the policy, and being ready for long enough starts them afresh`() throws {
        let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), jitter: 0.5, attempts: 5)
        var machine = ConnectionMachine(policy: .init(reconnecting: policy), isPeerKnown: true)
        try machine.handle(.connect)
        for failure in 1...5 {
            let random = UInt64(failure) &* 0x9E37_79B9_7F4A_7C15
            let effects = try machine.handle(.connectFailed(Paths.timeout), random: random)
            let delay = try #require(policy.delay(afterFailure: failure, random: random))
            #expect(machine.state == .disconnected(.waitingToReconnect(attempt: failure, until: .delay(delay))))
            #expect(effects.isEmpty)
            try machine.handle(.resume)
            #expect(machine.state == .disconnected(.connecting(attempt: failure + 1)))
        }
        var exhausted = machine
        try exhausted.handle(.connectFailed(Paths.timeout))
        #expect(exhausted.state == .failed(Paths.timeout))
        try machine.handle(.linkEstablished(mtu: 23), now: .seconds(100))
        try machine.handle(.becomeReady, now: .seconds(101))
        // Reading doesn't begin the time anew.
        try machine.handle(.read, now: .seconds(105))
        try machine.handle(.readFinished, now: .seconds(106))
        var flapping = machine
        try flapping.handle(.linkLost(DisconnectReason(.supervisionTimeout)), now: .seconds(111) - .nanoseconds(1))
        #expect(flapping.state.kind == .failed, "the sixth failure in a row is one too many")
        try machine.handle(.linkLost(DisconnectReason(.supervisionTimeout)), now: .seconds(111))
        #expect(machine.failures == 1)
        let first = try #require(policy.delay(afterFailure: 1, random: 0))
        #expect(machine.state == .disconnected(.waitingToReconnect(attempt: 1, until: .delay(first))))
        try machine.handle(.resume, now: .seconds(112))
        #expect(machine.state == .disconnected(.connecting(attempt: 1)))
    }

    @Test func `a link that is lost soon after it was ready is a failure in a row, and the pause is longer`() throws {
        var machine = ConnectionMachine(policy: .init(reconnecting: .exponential(jitter: 0)), isPeerKnown: true)
        try machine.handle(.connect)
        var now = Duration.zero
        for milliseconds in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            try machine.handle(.linkEstablished(mtu: 23), now: now)
            try machine.handle(.becomeReady, now: now)
            now += .milliseconds(9999)
            try machine.handle(.linkLost(DisconnectReason(.supervisionTimeout)), now: now)
            guard case .disconnected(.waitingToReconnect(_, .delay(let delay))) = machine.state else {
                Issue.record("\(machine.state)")
                return
            }
            #expect(delay == .milliseconds(milliseconds))
            now += delay
            try machine.handle(.resume, now: now)
        }
    }

    @Test func `a connection that fails to be established is repeated at once a few times`() throws {
        var machine = ConnectionMachine(policy: .init(immediateAttempts: 2), isPeerKnown: true)
        try machine.handle(.connect)
        for attempt in 2...3 {
            let effects = try machine.handle(.connectFailed(Paths.failedToEstablish))
            #expect(effects.isEmpty)
            #expect(machine.state == .disconnected(.connecting(attempt: attempt)))
        }
        try machine.handle(.connectFailed(Paths.failedToEstablish))
        #expect(machine.state.kind == .waitingToReconnect && machine.failures == 1)
    }

    @Test func `a radio that can't scan is tried again before the first link too; a search in vain is not`() throws {
        var machine = ConnectionMachine()
        try machine.handle(.scan)
        try machine.handle(.scanFailed(Paths.timeout))
        #expect(machine.state.kind == .waitingToReconnect && machine.failures == 1)
        try machine.handle(.resume)
        #expect(machine.state.kind == .scanning)
        var vain = machine
        try vain.handle(.searchFailed(Paths.timeout))
        #expect(vain.state == .failed(Paths.timeout))
        var final = machine
        try final.handle(.scanFailed(Paths.notFound))
        #expect(final.state == .failed(Paths.notFound))
        var once = ConnectionMachine(policy: .init(reconnecting: nil))
        try once.handle(.scan)
        try once.handle(.scanFailed(Paths.timeout))
        #expect(once.state == .failed(Paths.timeout))
    }

    @Test func `the remedy for a stale cache is tried once, after one to two seconds`() throws {
        for random in [0, 999, UInt64.max] {
            var machine = ConnectionMachine(isPeerKnown: true)
            for trigger in [.connect, .linkEstablished(mtu: 23), .discoverServices] as [SessionState.Trigger] {
                try machine.handle(trigger)
            }
            try machine.handle(.servicesDiscovered(fromCache: true))
            try machine.handle(.discoverCharacteristics)
            let effects = try machine.handle(.notFound(Paths.notFound), random: random)
            #expect(effects == [.closeLink, .dropCache])
            guard case .disconnected(.waitingToReconnect(0, .delay(let delay))) = machine.state else {
                Issue.record("\(machine.state)")
                return
            }
            #expect(delay >= .seconds(1) && delay <= .seconds(2))
            for trigger in [.resume, .linkEstablished(mtu: 23), .discoverServices] as [SessionState.Trigger] {
                try machine.handle(trigger)
            }
            // Even if somebody kept something again: once is enough.
            try machine.handle(.servicesDiscovered(fromCache: true))
            try machine.handle(.discoverCharacteristics)
            try machine.handle(.notFound(Paths.notFound))
            #expect(machine.state == .failed(Paths.notFound))
        }
    }

    @Test func `an adapter that is gone is waited for without counting a failure`() throws {
        var machine = ConnectionMachine(isPeerKnown: true)
        try machine.handle(.connect)
        try machine.handle(.adapterLost(.poweredOff))
        #expect(machine.state == .disconnected(.waitingToReconnect(attempt: 0, until: .adapter(.poweredOff))))
        try machine.handle(.adapterLost(.absent))
        #expect("\(machine.state)".contains("not plugged in"))
        try machine.handle(.adapterReturned)
        #expect(machine.state.kind == .connecting && machine.failures == 0)
    }

    @Test(arguments: AdapterInfo.State.allCases.filter { $0 != .poweredOn })
    func `without reconnecting an adapter that can't be used is a failure in every state, and says what to do`(
        _ adapter: AdapterInfo.State
    ) throws {
        for kind in SessionState.Kind.allCases where kind != .failed {
            for way in Paths.all(to: kind) {
                var machine = way
                let waits = machine.policy.reconnecting != nil && !adapter.isFinal
                try machine.handle(.adapterLost(adapter))
                #expect((machine.state.kind == .waitingToReconnect) == waits, "\(kind)")
                guard !waits else { continue }
                guard case .failed(let error) = machine.state else {
                    Issue.record("\(kind): \(machine.state)")
                    return
                }
                let words = adapter == .unknown ? "not known yet" : adapter.words
                #expect(error.cause.contains(words) && !error.remedy.isEmpty)
            }
        }
    }

    @Test func `after disconnecting nothing is to begin by itself before it is asked for`() throws {
        for begin in [SessionState.Trigger.connect, .scan] {
            var machine = ConnectionMachine(isPeerKnown: true)
            #expect(!machine.isHeld)
            try machine.handle(.disconnect)
            #expect(machine.isHeld && machine.state == .disconnected(.initial))
            try machine.handle(begin)
            #expect(!machine.isHeld)
        }
        var failed = ConnectionMachine(policy: .init(reconnecting: nil))
        try failed.handle(.adapterLost(.absent))
        try failed.handle(.reset)
        #expect(!failed.isHeld)
    }

    @Test func `without reconnecting a stale cache is dropped with the failure, for whoever begins anew`() throws {
        var machine = ConnectionMachine(policy: .init(reconnecting: nil), isPeerKnown: true)
        for trigger in [.connect, .linkEstablished(mtu: 23), .discoverServices] as [SessionState.Trigger] {
            try machine.handle(trigger)
        }
        try machine.handle(.servicesDiscovered(fromCache: true))
        try machine.handle(.discoverCharacteristics)
        let effects = try machine.handle(.notFound(Paths.notFound))
        #expect(effects == [.closeLink, .dropCache] && machine.state == .failed(Paths.notFound))
    }
}
