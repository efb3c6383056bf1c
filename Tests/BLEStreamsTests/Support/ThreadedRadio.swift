import BLEProtocol
import BLERadio
import Dispatch
import RadioDoubles
import Synchronization

@testable import BLEStreams

/// An ``AnsweringLink`` whose peer answers on a thread of the link's own.
final class ThreadedLink: ATTLink {
    private let inner = AnsweringLink()
    private let queue = DispatchQueue(label: "link")
    /// After how many PDUs the peer leaves; `nil`: it stays.
    private let patience: Int?
    private let sent = AtomicCount()

    let peer: BluetoothAddress
    let local: BluetoothAddress? = nil
    let maximumPDUSize = 672
    let isResumed = false
    let security = LinkSecurity.none
    /// Ended when the link is over, for whatever reason.
    let isOver = Ending<Void>()

    init(_ peer: BluetoothAddress, patience: Int? = nil) {
        (self.peer, self.patience) = (peer, patience)
    }

    func start(_ receiver: any ATTLinkReceiver) { inner.start(receiver) }

    func send(_ pdu: [UInt8]) -> SendResult {
        if isOver.hasEnded { return .ended }
        if let patience, sent.add() > patience {
            disconnect()
        } else {
            queue.async { [inner] in _ = inner.send(pdu) }
        }
        return .sent
    }

    /// Hands PDUs to the library, behind what came before.
    func bring(_ pdus: [[UInt8]]) { queue.async { [inner] in inner.bring(pdus) } }

    func disconnect() {
        queue.async { [inner, isOver] in
            inner.disconnect()
            isOver.end()
        }
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }
}

/// A radio that connects on other threads; some attempts fail, some links break soon.
final class ThreadedRadio: IdleRadio {
    private struct State {
        var chance: Chance
        var links: [ThreadedLink] = []
    }

    private let isReliable: Bool
    private let state: Mutex<State>

    /// What counts the attempts that are under way.
    let connecting = AtomicCount()
    let timeline: any Timeline

    init(seed: UInt64, isReliable: Bool = false, timeline: any Timeline = FastTimeline()) {
        self.isReliable = isReliable
        self.timeline = timeline
        state = Mutex(State(chance: Chance(seed: seed)))
    }

    /// The links that were made, also those that nobody wanted any more.
    var links: [ThreadedLink] { state.withLock { $0.links } }

    static func peer(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0xC4F2_171A_1D00 + UInt64(number), kind: .random)
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connecting.add()
        let isWanted = Mutex(true)
        let take: @Sendable () -> Bool = {
            isWanted.withLock { isWanted in
                defer { isWanted = false }
                return isWanted
            }
        }
        return start(take, peer, result)
    }

    private func start(
        _ take: @escaping @Sendable () -> Bool,
        _ peer: BluetoothAddress,
        _ result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        DispatchQueue.global().async { [self] in
            guard take() else { return }
            connecting.add(-1)
            result(attempt(peer))
        }
        return RadioActivity { [connecting] in if take() { connecting.add(-1) } }
    }

    private func attempt(_ peer: BluetoothAddress) -> Result<any ATTLink, BLEError> {
        state.withLock { state in
            if !isReliable, state.chance.below(4) == 0 {
                return .failure(BLEError(.connectionFailed, operation: "connect", cause: "chance has it so"))
            }
            let patience = isReliable || state.chance.below(2) == 0 ? nil : state.chance.below(12)
            let link = ThreadedLink(peer, patience: patience)
            state.links.append(link)
            return .success(link)
        }
    }
}
