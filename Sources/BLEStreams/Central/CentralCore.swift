import BLEProtocol
import BLERadio
import Synchronization

/// What the streams and peripherals of one central share.
final class CentralCore: Sendable {
    let radio: any Radio
    let scans: ScanBroker
    let states: ConnectionBoard
    let store: PeerStore
    let connectQueue: ConnectQueue
    let sessionLinks = SessionLinks()
    let links: SharedLinks
    let preferences: LinkPreferences
    let recovery: RecoveryDriver

    init(
        radio: any Radio,
        store: PeerStore,
        parameters: ConnectionParameters? = nil,
        recovery plan: RecoveryPlan = RecoveryPlan()
    ) {
        preferences = LinkPreferences(parameters)
        self.radio = radio
        self.store = store
        scans = ScanBroker(radio: radio)
        states = ConnectionBoard()
        connectQueue = ConnectQueue(timeline: radio.timeline)
        links = SharedLinks(timeline: radio.timeline)
        recovery = RecoveryDriver(plan, radio: radio, scans: scans)
        recovery.begin()
    }

    var timeline: any Timeline { radio.timeline }
}
