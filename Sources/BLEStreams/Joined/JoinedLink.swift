import BLEProtocol
import BLERadio
import Synchronization

/// A link of one of several joined adapters; it occupies one of the adapter's connection slots until it ends.
final class JoinedLink: ATTLink {
    private let link: any ATTLink
    private let place: Ending<Void>
    private let isStarted = Mutex(false)

    /// - Parameter peer: the address asked for, under which the link is recorded: an adapter that knows the peer's key
    ///   makes the link to the identity behind a private address.
    init(_ link: any ATTLink, to peer: BluetoothAddress, by adapter: AdapterChooser.AdapterID, on radio: JoinedRadio) {
        self.link = link
        place = Ending()
        place.undo { radio.unlinked(from: peer, by: adapter) }
    }

    deinit { place.end() }

    var peer: BluetoothAddress { link.peer }
    var local: BluetoothAddress? { link.local }
    var maximumPDUSize: Int { link.maximumPDUSize }
    var isResumed: Bool { link.isResumed }
    var security: LinkSecurity { link.security }
    var hasKey: Bool { link.hasKey }

    func start(_ receiver: any ATTLinkReceiver) {
        isStarted.withLock { $0 = true }
        link.start(Receiver(receiver, place))
    }

    func send(_ pdu: [UInt8]) -> SendResult { link.send(pdu) }

    func disconnect() {
        link.disconnect()
        // Otherwise nobody learns of the end.
        if !isStarted.withLock({ $0 }) { place.end() }
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { link.readRSSI(result) }

    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) { link.readConditions(result) }

    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        link.observeConditions(events)
    }

    func request(
        _ parameters: ConnectionParameters,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        link.request(parameters, result)
    }

    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) { link.encrypt(result) }

    func raise(
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        link.raise(to: level, asking: interview, result: result)
    }

    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity { link.observeSecurity(changed) }

    /// Stands between the radio and the link's receiver.
    private final class Receiver: ATTLinkReceiver {
        private let receiver: any ATTLinkReceiver
        private let place: Ending<Void>

        init(_ receiver: any ATTLinkReceiver, _ place: Ending<Void>) {
            self.receiver = receiver
            self.place = place
        }

        func linkReceived(_ pdus: consuming ReceivedPDUs) { receiver.linkReceived(pdus) }
        func linkDropped(_ count: Int) { receiver.linkDropped(count) }
        func linkBecameWritable() { receiver.linkBecameWritable() }
        func linkEncryptionFailed(_ error: BLEError) { receiver.linkEncryptionFailed(error) }
        func linkPaired(_ bond: Bond) { receiver.linkPaired(bond) }

        func linkEnded(_ reason: DisconnectReason) {
            // Before anyone connects again.
            place.end()
            receiver.linkEnded(reason)
        }
    }
}
