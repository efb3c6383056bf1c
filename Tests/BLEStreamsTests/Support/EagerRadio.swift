import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles

/// A link on which PDUs come before anything is asked.
private final class EagerLink: ATTLink {
    private let inner: any ATTLink
    private let time: VirtualTime
    private let early: [[UInt8]]
    private let timers = Recorder<RadioActivity>()

    var peer: BluetoothAddress { inner.peer }
    var local: BluetoothAddress? { inner.local }
    var maximumPDUSize: Int { inner.maximumPDUSize }
    let isResumed: Bool
    var security: LinkSecurity { inner.security }

    init(_ inner: any ATTLink, _ time: VirtualTime, _ early: [[UInt8]], isResumed: Bool) {
        (self.inner, self.time, self.early, self.isResumed) = (inner, time, early, isResumed)
    }

    func start(_ receiver: any ATTLinkReceiver) {
        inner.start(receiver)
        let timer = time.schedule(after: .milliseconds(1)) { [time, early] in
            let pdus = early.map { ReceivedPDU(bytes: $0, time: time.wallTime) }
            receiver.linkReceived(ReceivedPDUs(pdus))
        }
        timers.add(timer)
    }

    func send(_ pdu: [UInt8]) -> SendResult { inner.send(pdu) }

    func disconnect() { inner.disconnect() }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { inner.readRSSI(result) }
}

/// A radio whose links have PDUs on their way when they begin, as one that is taken over from an earlier program.
struct EagerRadio: RelayingRadio {
    let radio: SimulatedAdapter
    let time: VirtualTime
    let early: [[UInt8]]
    /// Whether its links say that an earlier program has used them.
    var isResumed = false

    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        radio.connect(to: peer, parameters: parameters) { [time, early, isResumed] outcome in
            result(outcome.map { EagerLink($0, time, early, isResumed: isResumed) as any ATTLink })
        }
    }
}
