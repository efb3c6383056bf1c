import BLEProtocol
import BLERadio
import Synchronization

/// Turns what happens on the links of one radio into records of a file.
final class CaptureRecorder: Sendable {
    typealias LinkID = ATTCapture.LinkID

    private struct State {
        var adapter = AdapterInfo(name: "", address: nil, state: .unknown)
        /// Made with the first link: by then the adapter is known.
        var machine: ATTCapture?
    }

    private let capture: Capture
    private let timeline: any Timeline
    private let state = Mutex(State())

    private var file: CaptureFile { capture.file }

    init(_ capture: Capture, timeline: any Timeline) {
        self.capture = capture
        self.timeline = timeline
    }

    /// What is known of the adapter.
    var adapter: AdapterInfo {
        get { state.withLock { $0.adapter } }
        set { state.withLock { $0.adapter = newValue } }
    }

    /// `nil` when too many links are open at once.
    func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID? {
        let time = timeline.wallTime
        return state.withLock { state in
            var info = state.adapter
            info.address = info.address ?? radioLink.local
            var machine = state.machine ?? capture.add(info, at: time)
            let opened = machine.linkOpened(peer: radioLink.peer, role: role, time: time)
            state.machine = machine
            if let opened { file.append(opened.octets) }
            return opened?.link
        }
    }

    func linkClosed(_ link: LinkID, _ reason: DisconnectReason) {
        let time = timeline.wallTime
        state.withLock { state in
            guard let octets = state.machine?.linkClosed(link, status: reason.recordedStatus, time: time) else {
                return
            }
            file.append(octets)
        }
    }

    /// Whether there was room for it.
    func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool {
        append { $0.received(Array(pdu.bytes), on: link, time: pdu.time) }
    }

    /// Hands a PDU over by the closure, and records it where it was taken. Its place in the file is before whatever
    /// follows from it, however fast that comes.
    func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool) {
        guard let machine else { return (send(), true) }
        let place = file.reserve(machine.sent(pdu, on: link, time: timeline.wallTime))
        let result = send()
        if let place { file.settle(place, isKept: result == .sent) }
        return (result, place != nil || result != .sent)
    }

    /// Notes that PDUs are missing here; whether there was room for that.
    func lost(_ count: Int, _ link: LinkID) -> Bool {
        append { $0.dropped(count, on: link, time: timeline.wallTime) }
    }

    private var machine: ATTCapture? { state.withLock { $0.machine } }

    private func append(_ record: (ATTCapture) -> [UInt8]) -> Bool { machine.map { file.append(record($0)) } ?? true }
}

extension DisconnectReason {
    /// The HCI status that was told, or else the one that means the same.
    fileprivate var recordedStatus: UInt8? {
        if let hciStatus { return hciStatus }
        return switch kind {
        case .closedByPeer: 0x13
        case .closedLocally: 0x16
        case .supervisionTimeout: 0x08
        case .failedToEstablish: 0x3E
        case .authenticationFailed: 0x05
        case .keyMissing: 0x06
        case .adapterOff: 0x15
        case .transactionTimeout, .protocolViolation: 0x16
        case .other: nil
        }
    }
}
