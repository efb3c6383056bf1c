import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization

/// A link without a radio: its peer answers before `send` returns, and notifies and loses what a test says.
///
/// The peer has one service with two characteristics that can be read and notify, A001 at handle 3 and A002 at 6.
final class AnsweringLink: ATTLink {
    private struct State {
        var receiver: (any ATTLinkReceiver)?
        var withheld: [[UInt8]] = []
        var withholdsAnswers = false
        var afterSubscription: [[UInt8]] = []
        var behindReading: [[UInt8]] = []
        var sent: [[UInt8]] = []
        var security: LinkSecurity
        var securityObserver: (@Sendable () -> Void)?
        var whileLookedAt: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    let local: BluetoothAddress? = nil
    let maximumPDUSize = 672
    let isResumed = false

    init(security: LinkSecurity = .none) { state = Mutex(State(security: security)) }

    var security: LinkSecurity {
        let (security, meanwhile) = state.withLock { ($0.security, $0.whileLookedAt.take()) }
        meanwhile?()
        return security
    }

    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        state.withLock { $0.securityObserver = changed }
        return RadioActivity { [weak self] in _ = self?.state.withLock { $0.securityObserver.take() } }
    }

    /// Has another protection from now on, and says so.
    func protect(_ security: LinkSecurity) {
        let observer = state.withLock { state in
            state.security = security
            return state.securityObserver
        }
        observer?()
    }

    /// What happens the next time while somebody looks up its protection.
    func whileLookedAt(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.whileLookedAt = action } }

    /// What the library has sent.
    var sent: [[UInt8]] { state.withLock { $0.sent } }

    /// Keeps answers back, or brings those that were.
    func withholdAnswers(_ withholds: Bool) {
        let due = state.withLock { state in
            state.withholdsAnswers = withholds
            defer { if !withholds { state.withheld = [] } }
            return withholds ? [] : state.withheld
        }
        if !due.isEmpty { bring(due) }
    }

    /// What comes behind the answer to the next subscription.
    func subscribed(_ pdus: [[UInt8]]) { state.withLock { $0.afterSubscription = pdus } }

    /// What one wake-up brings with the answer to the next reading.
    func read(_ pdus: [[UInt8]]) { state.withLock { $0.behindReading = pdus } }

    /// Hands PDUs to the library, as one wake-up brings them.
    func bring(_ pdus: [[UInt8]]) {
        let time = ReceptionTime(sinceEpoch: .seconds(1_700_000_000), source: .simulation)
        state.withLock { $0.receiver }?.linkReceived(ReceivedPDUs(pdus.map { ReceivedPDU(bytes: $0, time: time) }))
    }

    /// Says that the kernel had no room for so many PDUs.
    func drop(_ count: Int) { state.withLock { $0.receiver }?.linkDropped(count) }

    func start(_ receiver: any ATTLinkReceiver) { state.withLock { $0.receiver = receiver } }

    func send(_ pdu: [UInt8]) -> SendResult {
        let answer = Self.answer(to: pdu)
        let mustAnswer = state.withLock { state in
            state.sent.append(pdu)
            if state.withholdsAnswers, let answer { state.withheld.append(answer) }
            return !state.withholdsAnswers
        }
        let behind = pdu.first == 0x0A ? state.withLock { $0.behindReading } : []
        if mustAnswer, let answer { bring([answer] + behind) }
        if pdu.first == 0x12 { bring(state.withLock { $0.afterSubscription }) }
        return .sent
    }

    func disconnect() {
        let last = state.withLock { $0.receiver.take() }
        last?.linkEnded(DisconnectReason(.closedLocally))
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    private static func answer(to request: [UInt8]) -> [UInt8]? {
        let start = request.count > 2 ? Int(request[1]) | Int(request[2]) << 8 : 0
        let type = request.count > 6 ? Int(request[5]) | Int(request[6]) << 8 : 0
        switch request[0] {
        case 0x02: return [0x03, 0x05, 0x02]
        case 0x04 where start <= 4: return [0x05, 1, 4, 0, 0x02, 0x29]
        case 0x04 where start <= 7: return [0x05, 1, 7, 0, 0x02, 0x29]
        case 0x08 where type == 0x2803 && start <= 2:
            return [0x09, 7, 2, 0, 0x12, 3, 0, 0x01, 0xA0, 5, 0, 0x12, 6, 0, 0x02, 0xA0]
        case 0x0A: return [0x0B, 42]
        case 0x10 where type == 0x2800 && start <= 1: return [0x11, 6, 1, 0, 7, 0, 0x00, 0xA0]
        case 0x12: return [0x13]
        case 0x1E, 0x52: return nil
        default: return [0x01, request[0], request[1], request.count > 2 ? request[2] : 0, 0x0A]
        }
    }
}

/// A radio that connects to one link at once, in real time.
struct OneLinkRadio: IdleRadio {
    let link: AnsweringLink

    init(security: LinkSecurity = .none) { link = AnsweringLink(security: security) }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        result(.success(link))
        return RadioActivity {}
    }
}
