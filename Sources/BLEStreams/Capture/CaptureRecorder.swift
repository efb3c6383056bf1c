import BLEProtocol
import BLERadio
import Synchronization

/// Turns the traffic of one radio's links into records of a file.
final class CaptureRecorder: TrafficObserver {
    private struct State {
        var adapter = AdapterInfo(name: "", address: nil, state: .unknown)
        /// Found or added with the first link or advertisement, when the adapter is known.
        var recorded: CapturedAdapter?
        /// Advertisements that the file had no room for, since the last one that was written.
        var missingReports = 0
    }

    private let capture: TrafficCapture
    private let timeline: any Timeline
    private let state = Mutex(State())

    private var file: CaptureFile { capture.file }

    init(_ capture: TrafficCapture, timeline: any Timeline) {
        self.capture = capture
        self.timeline = timeline
        capture.use(timeline)
    }

    /// The information on the adapter.
    var adapter: AdapterInfo {
        get { state.withLock { $0.adapter } }
        set { state.withLock { $0.adapter = newValue } }
    }

    /// `nil` if too many links are open at once.
    func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID? {
        let time = timeline.wallTime
        let adapter = state.withLock { begin(&$0, local: radioLink.local, time) }
        return adapter.machine.withLock { machine in
            let opened = machine.linkOpened(peer: radioLink.peer, role: role, time: time)
            if let opened { file.append(packet: opened.octets, isVital: true) }
            return opened?.link
        }
    }

    /// The adapter in the file; introduces it if it is new.
    private func begin(_ state: inout State, local: BluetoothAddress?, _ time: ReceptionTime) -> CapturedAdapter {
        if let recorded = state.recorded { return recorded }
        var info = state.adapter
        info.address = info.address ?? local
        let recorded = capture.add(info, at: time)
        state.recorded = recorded
        return recorded
    }

    func linkClosed(_ link: LinkID, _ reason: DisconnectReason) {
        let time = timeline.wallTime
        recorded?.machine.withLock { machine in
            _ = file.append(
                packet: machine.linkClosed(link, status: reason.recordedStatus, time: time),
                isVital: true
            )
        }
    }

    /// Returns whether there was room for it.
    func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool {
        guard let machine else { return true }
        return file.append(packet: machine.received(Array(pdu.bytes), on: link, time: pdu.time))
    }

    /// Sends a PDU with the closure, and records it if it was taken. Its place in the file precedes everything that
    /// follows from it, however fast that arrives.
    func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool) {
        guard let machine else { return (send(), true) }
        let place = file.reserve(machine.sent(pdu, on: link, time: timeline.wallTime))
        let result = send()
        if let place {
            file.settle(place, isKept: result == .sent)
        } else if result == .sent {
            file.leaveOut()
        }
        return (result, place != nil || result != .sent)
    }

    func dropped(_ count: Int) { file.lost(count) }

    /// Records that PDUs are missing here; returns whether there was room for that.
    func lost(_ count: Int, _ link: LinkID) -> Bool {
        append { $0.dropped(count, on: link, time: timeline.wallTime) }
    }

    /// Records advertisements, each with its own time.
    func reported(_ reports: [AdvertisingReport]) {
        guard let first = reports.first else { return }
        state.withLock { state in
            let machine = begin(&state, local: nil, first.time).machine.withLock { $0 }
            for report in reports {
                if state.missingReports > 0 {
                    let note = "\(state.missingReports) advertisements were not recorded"
                    guard file.append(machine.note(note, time: report.time)) else {
                        state.missingReports += 1
                        file.leaveOut()
                        continue
                    }
                    state.missingReports = 0
                }
                let octets = machine.advertised(
                    by: report.address,
                    isConnectable: report.isConnectable,
                    rssi: report.rssi,
                    data: report.data.bytes,
                    time: report.time
                )
                if !file.append(packet: octets) { state.missingReports += 1 }
            }
        }
    }

    /// Records that advertisements are missing here.
    func reportsLost(_ count: Int) {
        file.lost(count)
        let time = timeline.wallTime
        let hadRoom = append { $0.note("\(count) packets with advertisements were lost", time: time) }
        if !hadRoom { state.withLock { $0.missingReports += count } }
    }

    private var recorded: CapturedAdapter? { state.withLock { $0.recorded } }

    private var machine: ATTCapture? { recorded?.machine.withLock { $0 } }

    /// Adds a note; returns whether there was room for it.
    private func append(_ record: (ATTCapture) -> [UInt8]) -> Bool { machine.map { file.append(record($0)) } ?? true }
}

extension DisconnectReason {
    /// The reported HCI status, otherwise the equivalent one.
    var recordedStatus: UInt8? {
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
