import BLEProtocol
import BLERadio
import BLESimulator

/// What goes wrong at one step of a run.
enum SweptFault: Hashable, Sendable, CustomStringConvertible {
    /// The link is lost instead of the PDU's arrival, or at that moment.
    case lost(DisconnectReason.Kind)
    case swallowed
    case late(Duration)
    case twice
    case corrupted
    /// What comes is an ATT error in place of a response.
    case refused(ATTError)
    /// An ATT error for another request comes in place of a response.
    case refusedForAnother
    /// Something comes that nobody asked for, in place of a PDU.
    case stray([UInt8])
    case cutOff
    /// The adapter of the central can't be used; for so long, or until the operation has ended.
    case adapter(AdapterInfo.State, lasting: Duration?)
    /// The peripheral's own adapter can't be used; its program serves again once it can.
    case peer(AdapterInfo.State, lasting: Duration?)
    case outOfRange(lasting: Duration?)
    case cancelled
    case consumerGone
    case storeUnwritable

    /// All, in the order of the table.
    static let all: [SweptFault] =
        [
            .lost(.supervisionTimeout), .lost(.closedByPeer), .lost(.failedToEstablish), .lost(.authenticationFailed),
            .lost(.keyMissing), .lost(.other), .swallowed, .late(.seconds(2)), .late(.seconds(31)), .twice,
            .corrupted, .refusedForAnother, .stray([0x13]), .stray([0x0B, 0xEE]), .stray([0xFF, 0xFF]), .cutOff,
            .adapter(.poweredOff, lasting: .seconds(3)), .adapter(.poweredOff, lasting: nil),
            .adapter(.blocked, lasting: nil), .adapter(.absent, lasting: .seconds(3)), .adapter(.absent, lasting: nil),
            .adapter(.resetting, lasting: .seconds(3)),
            .peer(.poweredOff, lasting: .seconds(3)), .peer(.poweredOff, lasting: nil),
            .peer(.resetting, lasting: .seconds(3)),
            .outOfRange(lasting: .seconds(8)), .outOfRange(lasting: nil), .cancelled, .consumerGone, .storeUnwritable,
        ] + errorCodes.map { .refused($0) }

    private static let errorCodes = (Array(0x01...0x13) + [0x80, 0xFC, 0xFD, 0xFE, 0xFF]).map {
        ATTError(rawValue: $0)
    }

    /// Whether it can strike at a step, and is another fault there than the rest.
    func strikes(at step: RadioStep) -> Bool {
        guard case .pdu(let octets) = step.kind else {
            switch self {
            case .adapter, .peer, .outOfRange, .cancelled, .consumerGone, .storeUnwritable: return true
            default: return false
            }
        }
        let kind = octets.first.map { ATTOpcode(rawValue: $0).kind }
        switch self {
        case .refused, .refusedForAnother: return kind == .response
        case .stray: return kind == .response || kind == .notification || kind == .indication
        case .corrupted, .cutOff: return octets.count > 1
        default: return true
        }
    }

    /// Whether values may come otherwise, or be missing, though all is done as it should be.
    var altersValues: Bool {
        switch self {
        case .swallowed, .late, .twice, .corrupted, .stray, .cutOff, .refused, .refusedForAnother: true
        default: false
        }
    }

    /// The name of its row in the table.
    var family: String {
        switch self {
        case .lost: "link lost"
        case .swallowed: "PDU lost"
        case .late: "PDU late"
        case .twice: "PDU twice"
        case .corrupted, .cutOff: "PDU corrupted"
        case .refused, .refusedForAnother: "ATT error"
        case .stray: "stray PDU"
        case .adapter(.absent, _): "controller gone"
        case .adapter: "adapter off"
        case .peer: "peripheral's adapter off"
        case .outOfRange: "out of range"
        case .cancelled: "cancelled"
        case .consumerGone: "consumer gone"
        case .storeUnwritable: "store unwritable"
        }
    }

    static let families = all.map(\.family).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }

    var description: String {
        switch self {
        case .lost(let reason): "link lost (\(reason))"
        case .late(let delay): "PDU late by \(delay)"
        case .corrupted: "one bit flipped"
        case .cutOff: "PDU cut off"
        case .refused(let code): "answered with \(code)"
        case .refusedForAnother: "answered with an error for another request"
        case .stray(let octets): "replaced by \(octets)"
        case .adapter(let state, let time): "adapter \(state) \(time.map { "for \($0)" } ?? "for good")"
        case .peer(let state, let time): "peripheral's adapter \(state) \(time.map { "for \($0)" } ?? "for good")"
        case .outOfRange(let time): "out of range \(time.map { "for \($0)" } ?? "for good")"
        default: family
        }
    }
}

extension SweptFault {
    /// What is done to the PDU of the step; `nil` where it is something else that goes wrong.
    func fault(_ filter: PDUFilter) -> Fault? {
        switch self {
        case .lost(let reason): .dropLink(insteadOf: filter, reason: reason)
        case .swallowed: .swallow(filter).times(1)
        case .late(let delay): .delay(filter, by: delay).times(1)
        case .twice: .duplicate(filter).times(1)
        case .corrupted: .corrupt(filter).times(1)
        case .refused(let code): .replace(filter) { Self.refusal($0, code.rawValue, of: 0) }.times(1)
        case .refusedForAnother: .replace(filter) { Self.refusal($0, 0x0A, of: 0x40) }.times(1)
        case .stray(let octets): .replace(filter, with: octets).times(1)
        case .cutOff: .replace(filter) { Array($0.prefix(max(1, $0.count / 2))) }.times(1)
        default: nil
        }
    }

    /// An Error Response to the request that this is the response to.
    private static func refusal(_ response: [UInt8], _ code: UInt8, of offset: UInt8) -> [UInt8] {
        let request = response.first == 0x01 && response.count > 1 ? response[1] : (response.first ?? 0) &- 1
        return [0x01, request ^ offset, 0, 0, code]
    }
}
