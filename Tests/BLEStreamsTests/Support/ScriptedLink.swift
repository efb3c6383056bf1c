import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Synchronization

/// A link in virtual time whose peer says what a script has it say, when it says so, however wrong that is.
final class ScriptedLink: ATTLink {
    /// PDUs, each so long after the one of the library's that it follows.
    typealias Answers = [(after: Duration, pdu: [UInt8])]

    private struct State {
        var receiver: (any ATTLinkReceiver)?
        var sent: [[UInt8]] = []
        var timers: [RadioActivity] = []
    }

    private let time: VirtualTime
    private let answers: @Sendable ([UInt8]) -> Answers
    private let endsOn: UInt8?
    private let state = Mutex(State())

    let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    let local: BluetoothAddress? = nil
    let maximumPDUSize = 672
    let isResumed: Bool
    let security: LinkSecurity

    /// - Parameters:
    ///   - endsOn: the opcode at which the peer breaks the link off.
    ///   - answers: what follows a PDU of the library's.
    init(
        _ time: VirtualTime,
        isResumed: Bool = false,
        security: LinkSecurity = .none,
        endsOn: UInt8? = nil,
        _ answers: @escaping @Sendable ([UInt8]) -> Answers
    ) {
        self.time = time
        self.isResumed = isResumed
        self.security = security
        self.endsOn = endsOn
        self.answers = answers
    }

    /// What the library has sent.
    var sent: [[UInt8]] { state.withLock { $0.sent } }

    func start(_ receiver: any ATTLinkReceiver) { state.withLock { $0.receiver = receiver } }

    func send(_ pdu: [UInt8]) -> SendResult {
        state.withLock { $0.sent.append(pdu) }
        if pdu.first == endsOn {
            later(.zero) { $0.end(DisconnectReason(.closedByPeer)) }
        } else {
            for (delay, answer) in answers(pdu) { later(delay) { $0.bring(answer) } }
        }
        return .sent
    }

    private func later(_ delay: Duration, _ body: @escaping @Sendable (ScriptedLink) -> Void) {
        let timer = time.schedule(after: delay) { [weak self] in self.map(body) }
        state.withLock { $0.timers.append(timer) }
    }

    private func bring(_ pdu: [UInt8]) {
        let received = ReceivedPDU(bytes: pdu, time: time.wallTime)
        state.withLock { $0.receiver }?.linkReceived(ReceivedPDUs([received]))
    }

    private func end(_ reason: DisconnectReason) {
        let last = state.withLock { $0.receiver.take() }
        last?.linkEnded(reason)
    }

    func disconnect() { later(.zero) { $0.end(DisconnectReason(.closedLocally)) } }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) { result(.success(())) }
}

/// A radio in virtual time that hands out links, one after the other; the last one again and again.
struct ScriptedRadio: IdleRadio {
    let time: VirtualTime
    private let links: [ScriptedLink]
    private let used = Count()

    /// How often it was connected to.
    var connections: Int { used.value }

    var timeline: any Timeline { time }

    init(_ time: VirtualTime, _ links: [ScriptedLink]) {
        self.time = time
        self.links = links
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let link = links[min(used.next(), links.count - 1)]
        return time.schedule(after: .zero) { result(.success(link)) }
    }

    private final class Count: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                defer { count += 1 }
                return count
            }
        }
    }
}

extension ScriptedLink {
    /// Connects to the peer of the first of these links, and runs the closure with the link of the library.
    static func run(
        _ make: @escaping @Sendable (VirtualTime) -> [ScriptedLink],
        _ body: @escaping @Sendable (Link, ScriptedLink) async throws -> Void
    ) async throws {
        try await VirtualTime.run { time in
            let links = make(time)
            let radio = ScriptedRadio(time, links)
            let central = try await Central.open(.radio(radio))
            try await central.peripheral(links[0].peer).withLink { link in
                try await body(link, links[min(radio.connections, links.count) - 1])
            }
        }
    }
}
