import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization

/// A radio without anything behind it: its one link answers at once, and brings what it is handed. No socket, no
/// thread, no time: what is left is the library's own work.
struct DirectRadio: IdleRadio {
    let link = DirectLink()

    let timeline: any Timeline = StillTimeline()

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        result(.success(link))
        return RadioActivity {}
    }
}

/// A time that stands still, in which nothing ever becomes due: without it there would be a thread for the timers.
struct StillTimeline: Timeline {
    let now = Duration.zero
    let wallTime = ReceptionTime(sinceEpoch: .seconds(1), source: .reading)
    var clock: any Clock<Duration> { ContinuousClock() }
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        // What is only to be done later than now is no matter of time.
        if delay <= .zero { Task.detached { body() } }
        return RadioActivity {}
    }
    func randomBits() -> UInt64 { 4 }
}

/// The link of a ``DirectRadio``; at its other end is what ``NotifyingPeripheral`` answers.
final class DirectLink: ATTLink {
    private let receiver = Mutex<(any ATTLinkReceiver)?>(nil)
    private let first = Mutex<[[UInt8]]>([])
    private let answers: Bool

    let peer: BluetoothAddress

    /// - Parameter answers: whether there is a peripheral at the other end; else there is a client, who is silent.
    init(peer: BluetoothAddress = SocketPairRadio.peer, answers: Bool = true) {
        self.peer = peer
        self.answers = answers
    }

    var local: BluetoothAddress? { nil }
    var maximumPDUSize: Int { 672 }
    var isResumed: Bool { false }
    var security: LinkSecurity { .none }

    func start(_ receiver: any ATTLinkReceiver) { self.receiver.withLock { $0 = receiver } }

    /// What comes once somebody has subscribed.
    var afterSubscription: [[UInt8]] {
        get { first.withLock { $0 } }
        set { first.withLock { $0 = newValue } }
    }

    func send(_ pdu: [UInt8]) -> SendResult {
        guard answers else { return .sent }
        if let answer = NotifyingPeripheral.answer(to: pdu) { bring([answer]) }
        if pdu.first == 0x12 { bring(afterSubscription) }
        return .sent
    }

    /// Hands PDUs to the receiver, as if they had just come.
    func bring(_ pdus: [[UInt8]]) {
        var received = ReceivedPDUs()
        for pdu in pdus { received.append(pdu, time: Self.time) }
        bring(received)
    }

    func bring(_ pdus: consuming ReceivedPDUs) { receiver.withLock { $0 }?.linkReceived(pdus) }

    static let time = ReceptionTime(sinceEpoch: .seconds(1), source: .reading)

    func disconnect() {
        let last = receiver.withLock { $0.take() }
        last?.linkEnded(DisconnectReason(.closedLocally))
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }
}
