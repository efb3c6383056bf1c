import BLEProtocol
import BLERadio
import Synchronization

/// A link of a recorded radio: passes everything on, and reports it to the recorder.
final class CapturedLink: ATTLink {
    private struct State {
        /// PDUs that the file had no room for, since the last one that was written.
        var missing = 0
        var isStarted = false
        /// Whether the recorder has been told of the end.
        var isOver = false
    }

    private let link: any ATTLink
    private let recorder: any TrafficObserver
    /// `nil` if too many links are open at once to distinguish them in a file.
    private let id: ATTCapture.LinkID?
    private let state = Mutex(State())

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

    func start(_ receiver: any ATTLinkReceiver) {
        state.withLock { $0.isStarted = true }
        link.start(Receiver(self, receiver))
    }

    func send(_ pdu: [UInt8]) -> SendResult {
        guard let id, noteMissing() else { return link.send(pdu) }
        let (result, hadRoom) = recorder.send(pdu, id) { link.send(pdu) }
        if !hadRoom { miss(1) }
        return result
    }

    func disconnect() {
        link.disconnect()
        let isUnused = state.withLock { !$0.isStarted }
        // Otherwise nobody learns of the end: the link would keep its place among those that are recorded.
        if isUnused, let id, isFirstEnd() { recorder.linkUnused(id) }
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) {
        link.readRSSI { [recorder, id] rssi in
            if let rssi, let id { recorder.measured(Int(rssi), id) }
            result(rssi)
        }
    }

    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        link.readConditions(measuring(result))
    }

    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        link.observeConditions(measuring(events))
    }

    /// The same receiver of conditions, behind the recorder, which gets the signal strength among them.
    private func measuring(
        _ receive: @escaping @Sendable (LinkConditions) -> Void
    ) -> @Sendable (LinkConditions) -> Void {
        { [recorder, id] conditions in
            if let rssi = conditions.rssi, let id { recorder.measured(rssi, id) }
            receive(conditions)
        }
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
        guard let id, noteMissing() else { return }
        for pdu in pdus where !recorder.received(pdu, id) { miss(1) }
    }

    fileprivate func dropped(_ count: Int) {
        if id != nil { recorder.dropped(count) }
        miss(count)
    }

    fileprivate func ended(_ reason: DisconnectReason) {
        noteMissing()
        if let id, isFirstEnd() { recorder.linkClosed(id, reason) }
    }

    /// Whether the recorder hasn't been told of the end yet; from now on it has.
    private func isFirstEnd() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }

    private func miss(_ count: Int) { state.withLock { $0.missing += count } }

    /// Says how many PDUs are missing here.
    ///
    /// - Returns: whether the link is being recorded.
    @discardableResult
    private func noteMissing() -> Bool {
        let (count, isOver) = state.withLock { state in
            defer { state.missing = 0 }
            return (state.missing, state.isOver)
        }
        if isOver { return false }
        if count > 0, let id, !recorder.lost(count, id) { miss(count) }
        return true
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
