public import BLEProtocol
import BLERadio
import Synchronization

/// One peripheral, kept connected for months: found, connected to, asked, subscribed to, and all of that again whenever
/// the link is lost, the adapter was away, or its attributes turn out to be others.
///
/// ```swift
/// let plan = Session.Plan(finding: .service(.heartRate)).subscribing(to: .heartRateMeasurement)
/// try await central.withSession(plan) { session in
///     for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
/// }
/// ```
///
/// Streams taken from a session outlive its links: values go on behind a gap, which ``BLEStream/withGaps()`` shows to
/// those who ask. What it is doing can be watched: ``states``. It is given up only where nothing can help, or where the
/// plan limits the attempts: then its state is failed with the cause, its streams throw that, and ``reset()`` begins
/// anew. ``disconnect()`` ends the link and keeps the session, ``connect()`` and ``search()`` have it go on.
public final class Session: Sendable {
    /// What the session is to do.
    public let plan: Session.Plan

    let core: CentralCore
    let central: Central
    let channels: SessionChannels
    let board: SessionStates

    /// What the program wants of the one who drives it.
    let orders = SessionOrders()

    /// Who has the link for an operation that the state shows, one at a time.
    let turns: Turns

    /// Made when it is first asked for: it refers to the session.
    private let lazyQueue = Mutex<QueueCore?>(nil)

    /// The queue of commands on the session's links.
    var queueCore: QueueCore {
        lazyQueue.withLock { core in
            let known = core ?? QueueCore(CommandConnection(of: self))
            core = known
            return known
        }
    }

    /// What the program does first on each link.
    let initialise: @Sendable (Link) async throws -> Void

    struct Facts {
        /// To whom to connect: one address, or the two that it may have.
        var addresses: [BluetoothAddress] = []
        var name: String?
        var link: Link?
        /// The last link, which may still be closing.
        var lastLink: Link?
        /// Since when it is away; kept where somebody hears of events.
        var lostSince: Duration?
    }

    let facts: Mutex<Facts>

    /// Held while a trigger is handled together with what must follow before the next one.
    private let handling = Mutex(())

    init(
        _ plan: Session.Plan,
        on central: Central,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) {
        self.plan = plan
        self.central = central
        self.initialise = initialise
        core = central.core
        turns = Turns()
        var facts = Facts()
        if case .addresses(let known) = plan.target { facts.addresses = known }
        let machine = ConnectionMachine(
            policy: .init(reconnecting: plan.reconnecting, immediateAttempts: plan.immediateAttempts),
            isPeerKnown: !facts.addresses.isEmpty
        )
        self.facts = Mutex(facts)
        channels = SessionChannels(plan.subscriptions, timeline: core.timeline)
        board = SessionStates(machine, timeline: core.timeline)
    }

    // MARK: - What it is doing

    /// What it is doing now.
    public var state: SessionState { board.current }

    /// What it is doing: the last transition at once, with the present state, then every one, none merged away.
    ///
    /// It never ends by itself.
    public var states: BLEStream<Session.Transition> {
        let (board, reference) = (board, SessionReference(self))
        let subject = StreamSubject(operation: "session states", object: "of \(self)")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            board.watch { step in
                if let session = reference.session { mailbox.send(Session.Transition(session, step)) }
            }
        }
    }

    /// The peripheral; `nil` while it is yet to be found.
    public var peripheral: Peripheral? {
        let addresses = facts.withLock { $0.addresses }
        return addresses.first.map {
            Peripheral(core: core, address: $0, alternatives: Array(addresses.dropFirst()))
        }
    }

    /// The name that it advertised when it was found; `nil` where it was not looked for, or has none.
    public var name: String? { facts.withLock { $0.name } }

    /// The link; `nil` while there is none. It is of use until it is lost.
    public var link: Link? { facts.withLock { $0.link } }

    // MARK: - For the driver

    /// Hands a trigger to the machine, and carries out what doesn't take time.
    func handle(_ trigger: SessionState.Trigger) throws(SessionState.IllegalTrigger) {
        let result: Result<[SessionEffect], SessionState.IllegalTrigger> = handling.withLock { _ in
            do throws(SessionState.IllegalTrigger) {
                let mustForget = mustForget(at: trigger)
                let effects = try board.handle(trigger) { if mustForget { $0.isPeerKnown = false } }
                if mustForget { facts.withLock { $0.addresses = [] } }
                switch state {
                case .failed(let error): channels.finish(throwing: error)
                case .disconnected(.initial): channels.reopen()
                default: break
                }
                return .success(effects)
            } catch {
                return .failure(error)
            }
        }
        let effects = try result.get()
        if let events = core.events { tell(events, trigger) }
        if effects.contains(.dropCache) { link?.bearer.forgetDatabase() }
        if effects.contains(.closeLink) {
            channels.interrupted(by: trigger.error ?? .interrupted(by: trigger))
            link?.beginClosing()
            linked(nil)
        }
    }

    /// Whether it has to be looked for again: it was found by a scan, and has an address that changes by design, or the
    /// session begins anew.
    private func mustForget(at trigger: SessionState.Trigger) -> Bool {
        guard case .found = plan.target, let address = facts.withLock({ $0.addresses.first }) else { return false }
        switch trigger {
        case .reset, .scan: return true
        case .resume, .adapterReturned:
            return address.subkind == .resolvablePrivate || address.subkind == .nonResolvablePrivate
        default: return false
        }
    }

    /// The last link, which may still be closing.
    var lastLink: Link? { facts.withLock { $0.lastLink } }

    /// Whoever drives the session looks again for what there is to do.
    func wake() { orders.wake() }

    func found(_ discovery: Discovery) {
        facts.withLock { facts in
            facts.addresses = [discovery.address]
            facts.name = discovery.name ?? facts.name
        }
    }

    /// The link that is up, and the address that turned out to be right.
    func linked(_ link: Link?) {
        core.sessionLinks.set(link?.peripheral.address, of: self)
        facts.withLock { facts in
            facts.link = link
            facts.lastLink = link ?? facts.lastLink
            if let link { facts.addresses = [link.peripheral.address] }
        }
    }
}

extension Session: CustomStringConvertible {
    /// Whom it is for: an address, or what is looked for.
    public var description: String {
        if let peripheral { return "\(peripheral)" }
        if case .found(let filters, _) = plan.target { return "a peripheral \(filters.inWords)" }
        return "nobody"
    }
}

extension BLEError {
    fileprivate static func interrupted(by trigger: SessionState.Trigger) -> BLEError {
        let isWanted = if case .disconnect = trigger { true } else { false }
        return BLEError(
            .disconnected,
            operation: "session",
            cause: isWanted ? "the program has disconnected the session" : "\(trigger)",
            remedy: isWanted
                ? "Call `Session.connect()` to go on." : "The session connects again as soon as it can."
        )
    }
}
