internal import BLEProtocol
internal import BLERadio

/// Everything that is known about an air. Confined to the lock of ``AirCore``; what others are to hear of it gathers
/// in ``outbox`` and is delivered after the lock is left.
struct AirState {
    /// What is to happen at a time.
    enum Entry: Sendable {
        case advertise(ActivityID)
        case connectionEvent(LinkID)
        case supervision(LinkID, silence: UInt32)
        case comeBack(AdapterID, AdapterInfo.State, @Sendable () -> Void)
        case pairing(ActivityID, LinkEndID, PairingStep)
        case encryption(LinkEndID)
        indirect case fault(FaultTimer)
    }

    let timeline: any Timeline

    /// The time of the step that is being taken.
    var now = Duration.zero { didSet { stepTime = nil } }

    var adapters: [AdapterRecord] = []
    var addresses: [BluetoothAddress: AdapterID] = [:]
    var activities: [ActivityID: Activity] = [:]
    var links = LinkTable()
    var signals: [AdapterPair: SignalStrength] = [:]
    var securities: [AdapterPair: LinkSecurity] = [:]
    var defaultSignal = SignalStrength.dBm(-60)
    var faults = FaultRules()
    var trace = TraceBuffer()

    /// Who scans, in the order of their start.
    var scans: [ScanRecord] = []

    /// Attempts to connect, by the address that they wait for, in the order of their start.
    var attempts: [BluetoothAddress: [ConnectAttempt]] = [:]

    private var agenda = Agenda<Entry>()

    /// What was due when it was entered: it needs no place in the agenda.
    private var dueNow: [(due: Duration, entry: Entry)] = []
    private var stepTime: ReceptionTime?
    var outbox: [Delivery] = []

    private var nextActivity: ActivityID = 0
    var nextHeld: UInt64 = 0
    var nextConditionObserver: UInt64 = 0

    init(timeline: any Timeline) { self.timeline = timeline }

    // MARK: - Time

    /// When there is something to do next.
    var nextDue: Duration? { outbox.isEmpty && dueNow.isEmpty ? agenda.earliest : now }

    /// Enters what is to happen at a time; at once when that has come.
    mutating func schedule(_ entry: Entry, at due: Duration) {
        if due <= now { dueNow.append((due, entry)) } else { agenda.insert(entry, due: due) }
    }

    /// Does what is due: first what has waited for its time, then what was due when it was entered.
    mutating func runDueEntries() {
        let entered = dueNow
        dueNow = []
        while let (due, entry) = agenda.popFirst(dueBy: now) { run(entry, due: due) }
        for (due, entry) in entered { run(entry, due: due) }
    }

    private mutating func run(_ entry: Entry, due: Duration) {
        switch entry {
        case .advertise(let id): runAdvertisingEvent(id)
        case .connectionEvent(let id): runConnectionEvent(id, due: due)
        case .supervision(let id, let silence): runSupervisionTimeout(id, silence: silence)
        case .comeBack(let id, let state, let done): comeBack(id, as: state, done)
        case .pairing(let id, let end, let step): runPairing(id, end, step)
        case .encryption(let end): runEncryption(end)
        case .fault(let timer): runFaultTimer(timer)
        }
    }

    /// The date of the step that is being taken.
    mutating func wallTime() -> ReceptionTime {
        if let stepTime { return stepTime }
        let time = timeline.wallTime
        stepTime = time
        return time
    }

    // MARK: - Activities

    mutating func add(_ kind: Activity.Kind, on adapter: AdapterID) -> ActivityID {
        let id = nextActivity
        nextActivity &+= 1
        activities[id] = Activity(adapter: adapter, kind: kind)
        return id
    }

    /// Ends an activity with a last event. What it was doing stops now; the closure goes with the delivery.
    mutating func fail(_ id: ActivityID, _ error: BLEError) {
        guard let activity = stop(id) else { return }
        activities[id]?.isEnding = true
        switch activity.kind {
        case .observe: preconditionFailure("observing does not fail")
        case .scan: outbox.append(.scan(id, .failed(error)))
        case .connect: outbox.append(.connectFailed(id, error))
        case .listen: outbox.append(.listen(id, .failed(error)))
        case .advertise: outbox.append(.advertise(id, .failed(error)))
        case .pair: outbox.append(.paired(id, .failure(error)))
        case .receivePairings: outbox.append(.reception(id, .ended(error)))
        }
    }

    /// Removes a cancelled activity and returns it, so that its closure is released outside the lock.
    mutating func cancel(_ id: ActivityID) -> Activity? {
        _ = stop(id)
        return activities.removeValue(forKey: id)
    }

    /// Takes an activity off the air; answers it if it was still going on.
    @discardableResult
    mutating func stop(_ id: ActivityID) -> Activity? {
        guard let activity = activities[id], !activity.isEnding else { return nil }
        switch activity.kind {
        case .observe: adapters[activity.adapter].observers.removeAll { $0 == id }
        case .scan: scans.removeAll { $0.activity == id }
        case .connect(let peer, _): removeAttempt(id, to: peer)
        case .listen: adapters[activity.adapter].listeners.removeAll { $0 == id }
        case .advertise: adapters[activity.adapter].advertisements.removeAll { $0.activity == id }
        case .pair: adapters[activity.adapter].pairings.removeAll { $0 == id }
        case .receivePairings: adapters[activity.adapter].receptions.removeAll { $0 == id }
        }
        return activity
    }

    // MARK: - Signals

    /// How well two adapters hear each other now, faults considered.
    func signal(_ a: AdapterID, _ b: AdapterID) -> SignalStrength {
        if faults.hasOutage(a, b) { return .outOfRange }
        return signals.isEmpty ? defaultSignal : signals[AdapterPair(a, b)] ?? defaultSignal
    }

    func measure(_ a: AdapterID, _ b: AdapterID) -> Int8? {
        signal(a, b).measurement { timeline.randomBits() }
    }

    /// A duration from zero to the one given, by chance.
    func randomDuration(below limit: Duration) -> Duration {
        guard limit > .zero else { return .zero }
        let part = Double(timeline.randomBits() >> 11) / Double(1 << 53)
        return limit * part
    }
}

/// Two adapters, in no order.
struct AdapterPair: Hashable, Sendable {
    let low: AdapterID
    let high: AdapterID

    init(_ a: AdapterID, _ b: AdapterID) {
        low = min(a, b)
        high = max(a, b)
    }
}

/// An adapter as the air sees it.
struct AdapterRecord: Sendable {
    let name: String
    let address: BluetoothAddress
    var state = AdapterInfo.State.poweredOn
    /// Whether it was switched off through the radio, not by the test's switches.
    var isSwitchedOffHere = false
    var settings: AdapterSettings
    /// What a program has selected; `nil`: nothing yet.
    var selectedPHYs: AdapterPHYs.Selection?

    /// In the order of their start.
    var observers: [ActivityID] = []
    var listeners: [ActivityID] = []
    var advertisements: [Advertisement] = []
    var attempts: [ActivityID] = []
    var pairings: [ActivityID] = []
    /// Who answers the pairings of centrals.
    var receptions: [ActivityID] = []

    /// The links that haven't ended on this side, by the peers' identities.
    var links: [BluetoothAddress: LinkEndID] = [:]
    var peripheralLinkCount = 0

    /// What is wrong with it though it is on.
    var ailment: AdapterAilment?
    var symptomObservers: [(id: UInt64, events: @Sendable (AdapterInfo.Symptom) -> Void)] = []

    /// The keys that it has of others, by their identities; lost when it is unplugged, as the kernel's are.
    var keys: [BluetoothAddress: SimulatedKey] = [:]
    /// By which it knows others behind their private addresses.
    var identityKeys: [BluetoothAddress: SecretKey] = [:]
    /// What it has told out of band last.
    var outOfBand: OutOfBandData?
    /// Behind what it hides itself; `nil`: it doesn't.
    var hiding: Hiding?

    var info: AdapterInfo { AdapterInfo(name: name, address: state == .absent ? nil : address, state: state) }
}
