import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization

/// A link that does what a test says, and nothing by itself.
final class FakeLink: ATTLink {
    private struct State {
        var answers: [SendResult]
        var receiver: (any ATTLinkReceiver)?
        var whileSending: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    init(answers: [SendResult]) { state = Mutex(State(answers: answers)) }

    /// What happens before the next `send` returns.
    var whileSending: (@Sendable () -> Void)? {
        get { state.withLock { $0.whileSending } }
        set { state.withLock { $0.whileSending = newValue } }
    }

    let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    let local: BluetoothAddress? = BluetoothAddress(rawValue: 0x00AA_0100_0000, kind: .public)
    let maximumPDUSize = 672
    let isResumed = false
    let security = LinkSecurity.none

    func start(_ receiver: any ATTLinkReceiver) { state.withLock { $0.receiver = receiver } }

    func send(_ pdu: [UInt8]) -> SendResult {
        whileSending?()
        return state.withLock { $0.answers.isEmpty ? .ended : $0.answers.removeFirst() }
    }

    func disconnect() {}

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    func receive(_ pdu: [UInt8]) {
        let time = ReceptionTime(sinceEpoch: .seconds(1_700_000_000), source: .simulation)
        state.withLock { $0.receiver }?.linkReceived(ReceivedPDUs(pdu, time: time))
    }

    func drop(_ count: Int) { state.withLock { $0.receiver }?.linkDropped(count) }

    /// Ends it, and lets its receiver go as every link does: the receiver has the link.
    func end() {
        let (receiver, _) = state.withLock { ($0.receiver.take(), $0.whileSending.take()) }
        receiver?.linkEnded(DisconnectReason(.closedByPeer))
    }
}

/// A radio that connects to one link at once.
struct FakeRadio: IdleRadio {
    private let link: FakeLink
    let timeline: any Timeline

    init(_ link: FakeLink, on timeline: any Timeline = PatientTimeline()) {
        (self.link, self.timeline) = (link, timeline)
    }

    var adapterInfo: AdapterInfo { AdapterInfo(name: "hci3", address: link.local, state: .poweredOn) }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        result(.success(link))
        return RadioActivity {}
    }
}

extension Radio {
    /// The link that it makes.
    func link() async -> (any ATTLink)? {
        let made = Mutex<(any ATTLink)?>(nil)
        let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let attempt = connect(to: peer) { result in made.withLock { $0 = try? result.get() } }
        attempt.cancel()
        return made.withLock { $0 }
    }
}

/// Keeps what a link brings.
final class Listener: ATTLinkReceiver {
    private let state = Mutex<(received: [[UInt8]], dropped: Int)>(([], 0))

    var received: [[UInt8]] { state.withLock { $0.received } }
    var dropped: Int { state.withLock { $0.dropped } }

    func linkReceived(_ pdus: ReceivedPDUs) { state.withLock { $0.received += pdus.map { Array($0.bytes) } } }
    func linkDropped(_ count: Int) { state.withLock { $0.dropped += count } }
    func linkBecameWritable() {}
    func linkEnded(_ reason: DisconnectReason) {}
}
