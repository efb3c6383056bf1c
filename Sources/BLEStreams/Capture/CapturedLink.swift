import BLEProtocol
import BLERadio
import Synchronization

/// A link of a recorded radio: passes everything on, and reports it to the recorder.
final class CapturedLink: ATTLink {
    private let link: any ATTLink
    private let recorder: any TrafficObserver
    /// `nil` if too many links are open at once to distinguish them in a file.
    private let id: ATTCapture.LinkID?
    /// PDUs that the file had no room for, since the last one that was written.
    private let missing = Mutex(0)

    init(_ link: any ATTLink, role: ATTCapture.Role, _ recorder: any TrafficObserver) {
        self.link = link
        self.recorder = recorder
        id = recorder.linkOpened(link, role)
    }

    var peer: BluetoothAddress { link.peer }
    var local: BluetoothAddress? { link.local }
    var maximumPDUSize: Int { link.maximumPDUSize }
    var isResumed: Bool { link.isResumed }
    var security: LinkSecurity { link.security }
    var hasKey: Bool { link.hasKey }

    func start(_ receiver: any ATTLinkReceiver) { link.start(Receiver(self, receiver)) }

    func send(_ pdu: [UInt8]) -> SendResult {
        guard let id else { return link.send(pdu) }
        noteMissing()
        let (result, hadRoom) = recorder.send(pdu, id) { link.send(pdu) }
        if !hadRoom { missing.withLock { $0 += 1 } }
        return result
    }

    func disconnect() { link.disconnect() }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) {
        link.readRSSI { [recorder, id] rssi in
            if let rssi, let id { recorder.measured(Int(rssi), id) }
            result(rssi)
        }
    }

    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        link.readConditions { [recorder, id] conditions in
            if let rssi = conditions.rssi, let id { recorder.measured(Int(rssi), id) }
            result(conditions)
        }
    }

    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        link.observeConditions(events)
    }

    func request(_ parameters: ConnectionParameters, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
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

    fileprivate func received(_ pdus: ReceivedPDUs) {
        guard let id else { return }
        noteMissing()
        for pdu in pdus where !recorder.received(pdu, id) { missing.withLock { $0 += 1 } }
    }

    fileprivate func dropped(_ count: Int) {
        if id != nil { recorder.dropped(count) }
        missing.withLock { $0 += count }
    }

    fileprivate func ended(_ reason: DisconnectReason) {
        noteMissing()
        if let id { recorder.linkClosed(id, reason) }
    }

    private func noteMissing() {
        let count = missing.withLock { count in
            defer { count = 0 }
            return count
        }
        guard count > 0, let id, !recorder.lost(count, id) else { return }
        missing.withLock { $0 += count }
    }

    /// Stands between the radio and the link's receiver.
    private final class Receiver: ATTLinkReceiver {
        private let link: CapturedLink
        private let receiver: any ATTLinkReceiver

        init(_ link: CapturedLink, _ receiver: any ATTLinkReceiver) {
            self.link = link
            self.receiver = receiver
        }

        func linkReceived(_ pdus: consuming ReceivedPDUs) {
            link.received(pdus)
            receiver.linkReceived(pdus)
        }

        func linkDropped(_ count: Int) {
            link.dropped(count)
            receiver.linkDropped(count)
        }

        func linkBecameWritable() { receiver.linkBecameWritable() }

        func linkEncryptionFailed(_ error: BLEError) { receiver.linkEncryptionFailed(error) }

        func linkPaired(_ bond: Bond) { receiver.linkPaired(bond) }

        func linkEnded(_ reason: DisconnectReason) {
            link.ended(reason)
            receiver.linkEnded(reason)
        }
    }
}
