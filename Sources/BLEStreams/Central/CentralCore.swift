import BLEProtocol
import BLERadio

/// What the streams and peripherals of one central share.
final class CentralCore: Sendable {
    let radio: any Radio
    let scans: ScanBroker
    let states: ConnectionBoard
    let store: PeerStore
    let sessionLinks = SessionLinks()
    let connector: Connector
    let preferences: LinkPreferences
    let identities = KnownIdentities()
    private let recovery: RecoveryDriver
    /// Where the radio is several: each recovers by itself.
    let joined: JoinedRadio?
    /// Who hears what happens; `nil`: nobody, and nothing is spent on it.
    let events: EventBoard?

    init(
        radio: any Radio,
        store: PeerStore,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery plan: RecoveryPlan = RecoveryPlan(),
        events handlers: [any EventHandler] = []
    ) {
        preferences = LinkPreferences(parameters, pairing)
        self.radio = radio
        self.store = store
        scans = ScanBroker(radio: radio, identity: identities.identity(of:))
        states = ConnectionBoard()
        connector = Connector(timeline: radio.timeline)
        joined = (radio as? any JoiningRadio)?.joined
        recovery = RecoveryDriver(plan, radio: radio, scans: scans)
        events = handlers.isEmpty ? nil : EventBoard(handlers, radio.timeline)
        if let joined { joined.recover(by: plan) } else { recovery.begin() }
        guard let events else { return }
        (radio as? CaptureRadio)?.tell(events)
        // For as long as the central lives.
        _ = watchTroubles { events.tell(.adapter($0)) }
    }

    /// Tells what goes wrong with the adapter, or with each of those that are joined; what is returned ends that.
    func watchTroubles(_ events: @escaping @Sendable (AdapterTrouble) -> Void) -> @Sendable () -> Void {
        joined?.watchTroubles(events) ?? recovery.watch(events)
    }

    /// Notes an attempt to connect; what is returned notes its end, and whether it has led to a link.
    func began(
        _ attempt: RecoveryDriver.Attempt,
        to peer: BluetoothAddress
    ) -> @Sendable (_ isLinked: Bool) -> Void {
        joined?.began(attemptTo: peer) ?? recovery.began(attempt, to: peer)
    }

    /// Whether it is the adapter that can't be used, and may yet return.
    func isOfAdapter(_ error: BLEError) -> Bool {
        guard !error.isFinal else { return false }
        switch error.code {
        case .adapterPoweredOff, .adapterBlocked, .adapterNotFound: return true
        default: return error.reason?.kind == .adapterOff || radio.adapterInfo.state != .poweredOn
        }
    }

    var timeline: any Timeline { radio.timeline }
}
