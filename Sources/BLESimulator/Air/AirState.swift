internal import BLEProtocol
internal import BLERadio

/// The whole state of an air. Confined to the lock of ``AirCore``; events for others gather in ``outbox`` and are
/// delivered after the lock is released.
struct AirState {
    /// What happens at a scheduled time.
    enum Entry: Sendable {
        case advertise(ActivityID)
        case connectionEvent(LinkID)
        case supervision(LinkID, silence: UInt32)
        case giveUp(LinkEndID)
        case comeBack(AdapterID, AdapterInfo.State, @Sendable () -> Void)
        case pairing(ActivityID, LinkEndID, PairingStep)
        case encryption(LinkEndID)
        indirect case fault(FaultTimer)
    }

    let timeline: any Timeline

    /// The time of the current step.
    var now = Duration.zero { didSet { stepTime = nil } }

    var adapters: [AdapterRecord] = []
    var addresses: [BluetoothAddress: AdapterID] = [:]
    var activities: [ActivityID: Activity] = [:]
    var links = LinkTable()
    var signals: [AdapterPair: SignalStrength] = [:]
    var securities: [AdapterPair: LinkSecurity] = [:]
    /// The last protection of links that are over, for the owners that still have them; only of those that had one.
    var lastSecurities: [LinkEndID: LinkSecurity] = [:]
    var defaultSignal = SignalStrength.dBm(-60)
    var faults = FaultRules()
    var trace = TraceBuffer()

    /// The scans, in the order of their start.
    var scans: [ScanRecord] = []

    /// The attempts to connect, by the address that they wait for, in the order of their start.
    var attempts: [BluetoothAddress: [ConnectAttempt]] = [:]

    private var agenda = Agenda<Entry>()

    /// Entries that were due when they were scheduled: they need no place in the agenda.
    private var dueNow: [(due: Duration, entry: Entry)] = []
    private var stepTime: ReceptionTime?
    var outbox: [Delivery] = []

    private var nextActivity: ActivityID = 0
    var nextHeld: UInt64 = 0
    var nextConditionObserver: UInt64 = 0

    init(timeline: any Timeline) { self.timeline = timeline }

    // MARK: - Time

    /// When the next step is due.
    var nextDue: Duration? { outbox.isEmpty && dueNow.isEmpty ? agenda.earliest : now }

    /// Schedules an entry; one that is already due runs in the next step.
    mutating func schedule(_ entry: Entry, at due: Duration) {
        if due <= now { dueNow.append((due, entry)) } else { agenda.insert(entry, due: due) }
    }

    /// Removes entries from the agenda.
    mutating func unschedule(where isCancelled: (Entry) -> Bool) { agenda.removeAll(where: isCancelled) }

    /// Runs the entries that are due: first those of the agenda, then those that were due when they were scheduled.
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
        case .giveUp(let end): giveUp(end)
        case .comeBack(let id, let state, let done): comeBack(id, as: state, done)
        case .pairing(let id, let end, let step): runPairing(id, end, step)
        case .encryption(let end): runEncryption(end)
        case .fault(let timer): runFaultTimer(timer)
        }
    }

    /// The wall time of the current step.
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

    /// Ends an activity with a last event. Its work stops now; the delivery takes the closure.
    mutating func fail(_ id: ActivityID, _ error: BLEError) {
        guard let activity = stop(id) else { return }
        activities[id]?.isEnding = true
        switch activity.kind {
        case .observe: preconditionFailure("observing does not fail")
        case .scan: outbox.append(.scan(id, .failed(error)))
        case .connect: outbox.append(.connectFailed(id, error))
        case .listen: outbox.append(.listen(id, .failed(error)))
        case .advertise: outbox.append(.advertise(id, .failed(error)))
        case .pair(let pairing):
            tellReception(ofEndOf: pairing)
            outbox.append(.paired(id, .failure(error)))
        case .receivePairings: outbox.append(.reception(id, .ended(error)))
        }
    }

    /// Removes a cancelled activity and returns it, so that its closure is released outside the lock.
    mutating func cancel(_ id: ActivityID) -> Activity? {
        if let activity = stop(id), case .pair(let pairing) = activity.kind { tellReception(ofEndOf: pairing) }
        return activities.removeValue(forKey: id)
    }

    /// Takes an activity off the air. Returns it if it was still under way.
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

    /// The signal strength between two adapters now, including faults.
    func signal(_ a: AdapterID, _ b: AdapterID) -> SignalStrength {
        if faults.hasOutage(a, b) { return .outOfRange }
        return signals.isEmpty ? defaultSignal : signals[AdapterPair(a, b)] ?? defaultSignal
    }

    func measure(_ a: AdapterID, _ b: AdapterID) -> Int8? {
        signal(a, b).measurement { timeline.randomBits() }
    }

    /// A random duration from zero to the given one.
    func randomDuration(below limit: Duration) -> Duration {
        guard limit > .zero else { return .zero }
        let part = Double(timeline.randomBits() >> 11) / Double(1 << 53)
        return limit * part
    }
}

/// An unordered pair of adapters.
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
    /// Whether it was switched off through the radio, not by the test's controls.
    var isSwitchedOffHere = false
    var settings: AdapterSettings
    /// What a program has selected since it was plugged in; `nil`: nothing yet.
    var selectedPHYs: AdapterPHYs.Selection?

    /// The activities of each kind, in the order of their start.
    var observers: [ActivityID] = []
    var listeners: [ActivityID] = []
    var advertisements: [Advertisement] = []
    var attempts: [ActivityID] = []
    var pairings: [ActivityID] = []
    /// The receptions that answer the pairings of centrals.
    var receptions: [ActivityID] = []

    /// The links that have not ended on this side, by the peers' identities.
    var links: [BluetoothAddress: LinkEndID] = [:]
    var peripheralLinkCount = 0

    /// Its ailment while it is on.
    var ailment: AdapterAilment?
    var symptomObservers: [(id: UInt64, events: @Sendable (AdapterInfo.Symptom) -> Void)] = []

    /// The keys that it has for others, by their identities; lost when it is unplugged, as the kernel's are.
    var keys: [BluetoothAddress: SimulatedKey] = [:]
    /// The keys with which it recognises others behind private addresses.
    var identityKeys: [BluetoothAddress: SecretKey] = [:]
    /// The out-of-band data that it made last.
    var outOfBand: OutOfBandData?
    /// Its key and private address; `nil`: it uses its own address.
    var hiding: Hiding?

    /// Whether its controller hangs: it neither sends nor receives anything, and answers no command.
    var isHung: Bool { ailment?.kind == .hung }

    var info: AdapterInfo { AdapterInfo(name: name, address: state == .absent ? nil : address, state: state) }
}
