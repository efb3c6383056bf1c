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

    init(radio: any Radio, store: PeerStore, parameters: ConnectionParameters? = nil) {
        preferences = LinkPreferences(parameters)
        self.radio = radio
        self.store = store
        scans = ScanBroker(radio: radio)
        states = ConnectionBoard()
        connectQueue = ConnectQueue(timeline: radio.timeline)
        links = SharedLinks(timeline: radio.timeline)
    }

    var timeline: any Timeline { radio.timeline }
}
