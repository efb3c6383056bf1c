import BLEProtocol
import BLERadio

/// What the streams and peripherals of one central share.
final class CentralCore: Sendable {
    let radio: any Radio
    let scans: ScanBroker
    let states: ConnectionBoard
    let store: PeerStore
    let sessionLinks: SessionLinks
    let sentParts = SentParts()
    let connector: Connector
    let preferences: LinkPreferences
    let identities: KnownIdentities
    private let recovery: RecoveryDriver
    /// The joined radio, if there are several adapters: each recovers by itself.
    let joined: JoinedRadio?
    /// Tells the handlers of events; `nil` if there are none, and then events cost nothing.
    let events: EventBoard?
    /// The sessions that wait for a connection slot.
    let slots: SlotLine

    init(
        radio: any Radio,
        store: PeerStore,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery plan: RecoveryPlan = RecoveryPlan(),
        events handlers: [any EventHandler] = []
    ) {
        let identities = KnownIdentities()
        self.identities = identities
        slots = SlotLine(timeline: radio.timeline)
        preferences = LinkPreferences(parameters, pairing, identities)
        sessionLinks = SessionLinks(identities)
        self.radio = radio
        self.store = store
        scans = ScanBroker(radio: radio, identity: identities.identity(of:))
        states = ConnectionBoard(identities)
        connector = Connector(timeline: radio.timeline, identities)
        joined = (radio as? any JoiningRadio)?.joined
        recovery = RecoveryDriver(plan, radio: radio, scans: scans, identity: identities.identity(of:))
        events = handlers.isEmpty ? nil : EventBoard(handlers, radio.timeline)
        if let joined { joined.recover(by: plan, identity: identities.identity(of:)) } else { recovery.begin() }
        guard let events else { return }
        (radio as? CaptureRadio)?.tell(events)
        // For as long as the central lives.
        _ = watchTroubles { events.tell(.adapter($0)) }
    }

    /// Reports the troubles of the adapter, or of each joined one, until the returned closure is called.
    func watchTroubles(_ events: @escaping @Sendable (AdapterTrouble) -> Void) -> @Sendable () -> Void {
        joined?.watchTroubles(events) ?? recovery.watch(events)
    }

    /// Records an attempt to connect; the returned closure records its end.
    func began(
        _ attempt: RecoveryDriver.Attempt,
        to peer: BluetoothAddress
    ) -> RecoveryDriver.AttemptEnd {
        joined?.began(attemptTo: peer) ?? recovery.began(attempt, to: peer)
    }

    /// Whether the cause why there is no link to a peripheral is that the adapter can't be used, and it may return. Of
    /// several that are joined, only those count that may connect to it.
    ///
    /// The error must not be one that a program's closure has thrown: that may be about another radio's adapter.
    func isOfAdapter(_ error: BLEError, connectingTo peer: BluetoothAddress) -> Bool {
        // The end of a link is final for that link only.
        if error.reason?.kind == .adapterOff { return true }
        guard !error.isFinal else { return false }
        switch error.code {
        case .adapterPoweredOff, .adapterBlocked, .adapterNotFound: return true
        default: return joined?.lacksCandidates(for: peer) ?? (radio.adapterInfo.state != .poweredOn)
        }
    }

    /// Whether the adapter that has the link to a peripheral is on: another one of several that are joined says nothing.
    func isAdapterOn(ofLinkTo peer: BluetoothAddress) -> Bool {
        guard let joined else { return radio.adapterInfo.state == .poweredOn }
        return joined.holder(ofLinkTo: peer)?.radio.adapterInfo.state == .poweredOn
    }

    /// Calls the closure, once or more often, when an adapter that may connect to a peripheral can be used, until the
    /// activity is cancelled.
    func whenAdapterIsOn(for peer: BluetoothAddress, _ tell: @escaping @Sendable () -> Void) -> RadioActivity {
        if let joined { return joined.whenCandidateIsOn(for: peer, tell) }
        return radio.observeAdapter { if $0.state == .poweredOn { tell() } }
    }

    /// The names of the joined adapters that had no connection slot for a peripheral in its last attempt, while others
    /// waited for it.
    func slotRefusers(of peer: BluetoothAddress) -> [String] {
        guard let joined else { return [] }
        return joined.choose { chooser, _ in chooser.refusers(of: peer) }.sorted().map { joined.name(of: $0) }
    }

    /// The adapters that may have a connection slot for a peripheral, as far as is known: those of several that are
    /// joined have their own slots.
    func slotAdapters(for peer: BluetoothAddress) -> Set<SlotOrder.AdapterID> {
        joined?.choose { chooser, _ in chooser.slotAdapters(for: peer) } ?? [0]
    }

    var timeline: any Timeline { radio.timeline }
}
