public import BLEProtocol
import BLERadio
import Synchronization

/// A lasting connection to one peripheral, over any number of links. Use a session to follow a device for hours or
/// months; for a single exchange, use ``Peripheral/withLink(timeout:parameters:pairing:_:)``.
///
/// A session finds the peripheral, connects, discovers its services and subscribes, and does all that again whenever
/// the link is lost, the adapter was absent, or the services have changed.
///
/// ```swift
/// let plan = Session.Plan(finding: .service(.heartRate)).subscribing(to: .heartRateMeasurement)
/// try await central.withSession(plan) { session in
///     for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
/// }
/// ```
///
/// The streams of a session outlive its links: values continue after a gap, which ``BLEStream/withGaps()`` shows.
/// ``states`` reports its state. It fails only if retrying can't help, or when the plan's attempts are used up: its
/// state is then failed with the cause, its streams of values throw that error, and ``reset()`` restarts it.
/// ``disconnect()`` ends the link and keeps the session; ``connect()`` and ``search()`` resume it.
public final class Session: Sendable {
    /// What the session does.
    public let plan: Session.Plan

    let core: CentralCore
    let central: Central
    let channels: SessionChannels
    let board: SessionStates

    /// The program's orders to the driver.
    let orders = SessionOrders()

    /// The turns of operations that the state shows, one at a time.
    let turns: Turns

    /// The task whose operation the state shows, so that it isn't left to wait for itself; 0 if there is none.
    let operatingTask = Atomic(0)

    /// Created on first use: it refers to the session.
    private let lazyQueue = Mutex<QueueCore?>(nil)

    /// The queue of commands on the session's links.
    var queueCore: QueueCore {
        lazyQueue.withLock { core in
            let known = core ?? QueueCore(CommandConnection(of: self))
            core = known
            return known
        }
    }

    /// The program's first steps on each link; `nil` once it is stopped. A closure that a lock holds directly is
    /// wrapped at each access.
    private struct Initialisation {
        var steps: (@Sendable (Link) async throws -> Void)?
    }

    private let initialisation: Mutex<Initialisation>

    /// The first steps on a link that the running task takes: they end before their session disconnects, so they can't
    /// wait for that.
    @TaskLocal static var firstSteps: FirstSteps?

    struct Facts {
        /// The address to connect to, or the two that the peripheral may have.
        var addresses: [BluetoothAddress] = []
        /// Whether it was found under an address that changes, or under the identity that a bond reveals behind such
        /// addresses.
        var hasChangingAddress = false
        var name: String?
        var link: Link?
        /// The last link, which may still be closing.
        var lastLink: Link?
        /// What was stored last of the plan, and for which address.
        var kept: (address: BluetoothAddress, record: SessionRecord)?
        /// Whether the program wants nothing of it stored any more.
        var isForgotten = false
        /// Since when it has lost its peripheral, and whether it had it; recorded only if there are event handlers.
        var lostSince: Duration?
        var wasReady = false
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
        initialisation = Mutex(Initialisation(steps: initialise))
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
        if plan.isKept { core.store.planKeepers.claim(self.facts.withLock { $0.addresses }, by: self) }
    }

    // MARK: - State

    /// The present state.
    public var state: SessionState { board.current }

    /// The changes of the state: the last one immediately, with the present state, then every one, none merged away.
    ///
    /// The stream never ends by itself, not even when the session has failed or ended.
    public var states: BLEStream<Session.Transition> {
        let (board, reference) = (board, SessionReference(self))
        let subject = StreamSubject(operation: "session states", object: "of \(self)")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            board.watch { step in
                if let session = reference.session { mailbox.send(Session.Transition(session, step)) }
            }
        }
    }

    /// The peripheral; `nil` until it is found.
    public var peripheral: Peripheral? {
        let addresses = facts.withLock { $0.addresses }
        return addresses.first.map {
            Peripheral(core: core, address: $0, alternatives: Array(addresses.dropFirst()))
        }
    }

    /// The name that it advertised when it was found; `nil` if it was not searched for, or advertises none.
    public var name: String? { facts.withLock { $0.name } }

    /// The link, usable until it is lost; `nil` if there is none.
    public var link: Link? { facts.withLock { $0.link } }

    // MARK: - For the driver

    /// Passes a trigger to the machine, and carries out the effects that take no time.
    func handle(_ trigger: SessionState.Trigger) throws(SessionState.IllegalTrigger) {
        let result: Result<[SessionEffect], SessionState.IllegalTrigger> = handling.withLock { _ in
            do throws(SessionState.IllegalTrigger) {
                let mustForget = mustForget(at: trigger)
                let object = trigger.lacksObject ? named : ""
                let effects = try board.handle(trigger, about: object, forgettingPeer: mustForget)
                if mustForget { facts.withLock { $0.addresses = [] } }
                let new = state
                switch new {
                case .failed(let error):
                    let finish = channels.finish(throwing: error)
                    board.add(finish)
                case .disconnected(.initial): channels.reopen()
                default: break
                }
                if let events = core.events { board.add { self.tell(events, new, because: trigger) } }
                return .success(effects)
            } catch {
                return .failure(error)
            }
        }
        board.tell()
        let effects = try result.get()
        if effects.contains(.dropCache) { link?.bearer.forgetDatabase() }
        if effects.contains(.closeLink) {
            channels.interrupted(by: trigger.error(about: named) ?? .interrupted(by: trigger, named))
            link?.beginClosing()
            linked(nil)
            // A caller's operation may be the cause, while the driver waits for news of the link.
            wake()
        } else if case .adapterLost = trigger, let reason = trigger.error(about: named) {
            channels.explained(by: reason)
        }
    }

    /// The object of an error about the session.
    private var named: String { "with \(self)" }

    /// Whether to search for the peripheral again: it was found by a scan and its address may have changed, or the
    /// session restarts.
    private func mustForget(at trigger: SessionState.Trigger) -> Bool {
        guard case .found = plan.target, let address = facts.withLock({ $0.addresses.first }) else { return false }
        switch trigger {
        case .reset, .scan: return true
        case .resume, .adapterReturned: return mayHaveChanged(address)
        default: return false
        }
    }

    /// Whether to search before the next attempt to connect: the peripheral isn't found yet, or an earlier search has
    /// found it under an address that may have changed.
    var mustSearch: Bool {
        guard let address = facts.withLock({ $0.addresses.first }) else { return true }
        guard case .found = plan.target, [.initial, .waitingToReconnect].contains(state.kind) else { return false }
        return mayHaveChanged(address)
    }

    /// Whether the peripheral may be heard under another address than this one: it changes by design; or it is the
    /// identity behind such addresses, and the bond that has revealed it is gone.
    private func mayHaveChanged(_ address: BluetoothAddress) -> Bool {
        if address.changesByDesign { return true }
        return facts.withLock { $0.hasChangingAddress } && !core.identities.isRevealed(address)
    }

    /// Whether it depends on a bond, which somebody may remove, that the peripheral is reached by its address.
    var dependsOnBond: Bool {
        guard case .found = plan.target else { return false }
        return facts.withLock { facts in
            facts.hasChangingAddress && facts.addresses.first?.changesByDesign == false
        }
    }

    /// The last link, which may still be closing.
    var lastLink: Link? { facts.withLock { $0.lastLink } }

    /// Takes the program's first steps on a link.
    func initialise(_ link: Link) async throws {
        let steps = initialisation.withLock { $0.steps }
        try await steps?(link)
    }

    /// It takes no more first steps. They may use the session: kept any longer, each would keep the other for ever.
    func forgetSteps() {
        let former = initialisation.withLock { $0.steps.take() }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Wakes the driver, to look for work.
    func wake() { orders.wake() }

    func found(_ discovery: Discovery) {
        let address = discovery.address
        let hasChangingAddress = address.changesByDesign || core.identities.isRevealed(address)
        facts.withLock { facts in
            facts.addresses = [address]
            facts.hasChangingAddress = hasChangingAddress
            facts.name = discovery.name ?? facts.name
        }
    }

    /// Records the link that is up and the address that proved correct.
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
    /// The peripheral: its address, or the filters to search with.
    public var description: String {
        if let peripheral { return "\(peripheral)" }
        if case .found(let filters, _) = plan.target { return "a peripheral \(filters.inWords)" }
        return "nobody"
    }
}

extension BLEError {
    fileprivate static func interrupted(by trigger: SessionState.Trigger, _ object: String) -> BLEError {
        let isWanted = if case .disconnect = trigger { true } else { false }
        return BLEError(
            .disconnected,
            operation: "session",
            object: object,
            cause: isWanted ? "the program has disconnected the session" : "\(trigger)",
            remedy: isWanted
                ? "Call `Session.connect()` to continue." : "The session connects again as soon as it can."
        )
    }
}

extension BluetoothAddress {
    /// Whether it may be another one the next time that the device is heard.
    fileprivate var changesByDesign: Bool { subkind == .resolvablePrivate || subkind == .nonResolvablePrivate }
}
