import Leases

/// One machine, and the broker as it sees it: a test says what comes, and when.
struct MachineBench {
    static let sensor = PeripheralID(rawValue: 0xC4F2_171A_1DBB)
    static let gateway = GatewayID(rawValue: 7)
    static let other = GatewayID(rawValue: 9)

    var machine: LeaseMachine
    var now: Milliseconds = 0
    var effects = LeaseEffects()
    /// What the machine published, in order.
    var published: [LeaseMessage] = []
    /// Whether pulses come back at once.
    var isConfirmed = true
    /// Whether the disk takes what it is given at once.
    var hasDisk = true

    init(stored: UInt64 = 1000, terms: LeaseTerms = LeaseTerms()) {
        machine = LeaseMachine(gateway: MachineBench.gateway, stored: stored, seed: 1, terms: terms)
    }

    @discardableResult
    mutating func give(_ input: LeaseInput) -> LeaseEffects {
        effects = machine.handle(input, at: now)
        published += effects.publish.map(\.message)
        let result = effects
        if let store = result.store, hasDisk { give(.stored(store)) }
        if let pulse = result.pulse, isConfirmed { give(.pulsed(pulse)) }
        effects = result
        return result
    }

    /// Lets time pass; the timers ask at each second, and the sensor is heard.
    mutating func pass(seconds: Int, strength: Int? = -60) {
        for second in 0..<seconds {
            now += 1000
            give(.timer(.link))
            if let strength, second % 30 == 0 { give(.heard(MachineBench.sensor, strength: strength)) }
            give(.timer(.peripheral(MachineBench.sensor)))
        }
    }

    mutating func connect(session: UInt64 = 1) {
        give(.connected(SessionID(rawValue: session)))
        give(.heard(MachineBench.sensor, strength: -60))
    }

    mutating func subscribe(retained: LeaseRecord? = nil) {
        if let retained { give(.message(MachineBench.sensor, .record(retained), isRetained: true)) }
        give(.subscribed(MachineBench.sensor))
    }

    /// The broker hands out a message.
    @discardableResult
    mutating func receive(_ message: LeaseMessage) -> LeaseEffects {
        give(.message(MachineBench.sensor, message, isRetained: false))
    }

    var records: [LeaseRecord] {
        published.compactMap { if case .record(let record) = $0 { record } else { nil } }
    }

    var bids: [LeaseBid] {
        published.compactMap { if case .bid(let bid) = $0 { bid } else { nil } }
    }

    /// The epoch by which the machine acts now.
    var epoch: Epoch? { machine.epoch(of: MachineBench.sensor, at: now) }

    /// A machine that acts, by the record that it returns.
    static func acting(_ terms: LeaseTerms = LeaseTerms()) -> (bench: MachineBench, record: LeaseRecord?) {
        var bench = MachineBench(terms: terms)
        bench.connect()
        bench.subscribe()
        bench.pass(seconds: 34)
        let record = bench.records.last
        if let record { bench.receive(.record(record)) }
        bench.pass(seconds: 6)
        return (bench, bench.records.last)
    }

    /// A record of another gateway.
    static func foreign(
        _ number: UInt64,
        _ sequence: UInt32,
        after: Mark?,
        strength: Int = -60,
        state: LeaseRecord.State = .held
    ) -> LeaseRecord {
        LeaseRecord(
            epoch: Epoch(number: number, gateway: other),
            mark: Mark(session: SessionID(rawValue: 99), sequence: sequence),
            after: after,
            strength: strength,
            state: state
        )
    }
}
