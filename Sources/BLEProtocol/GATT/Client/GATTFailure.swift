/// Why a GATT procedure failed; indirect, so that a result is little larger than its success.
package indirect enum GATTFailure: Error, Hashable, Sendable {
    /// The server answered with an error. The handle is the one that the server named, which may be wrong.
    case attribute(ATTError, handle: UInt16)
    /// The answer had the right opcode but a form that the specification doesn't allow.
    case malformedResponse(ATTDecodingError)
    /// There was no answer within 30 seconds. The bearer is closed.
    case timedOut
    /// The caller cancelled.
    case cancelled
    /// The server's attributes changed, so that a handle may mean something else; the procedure may or may not have had
    /// an effect.
    case databaseChanged
    /// The link ended, or its bearer was closed, before the procedure did.
    case disconnected(DisconnectReason)
    /// The echo of a reliable write differs from what was sent, from this octet on. Nothing was written.
    case mismatch(handle: UInt16, offset: Int)
    /// The value is longer than the procedure can carry; nothing was sent.
    case valueTooLong(count: Int, maximum: Int)

    /// Whether no further request is answered on the bearer: the failure says nothing about the server's attributes.
    var endsBearer: Bool {
        switch self {
        case .timedOut, .disconnected: true
        case .attribute, .malformedResponse, .cancelled, .databaseChanged, .mismatch, .valueTooLong: false
        }
    }
}

extension GATTFailure: CustomStringConvertible {
    /// The failure in words.
    package var description: String {
        switch self {
        case .attribute(let error, let handle): "the peer answered \(error) for handle \(handle)"
        case .malformedResponse(let error): "the peer's answer is malformed: \(error)"
        case .timedOut: "the peer left the request unanswered for 30 s"
        case .cancelled: "cancelled"
        case .databaseChanged: "the peer's services changed"
        case .disconnected(let reason): "the link ended: \(reason)"
        case .mismatch(let handle, let offset): "the peer echoed other octets for handle \(handle), from \(offset) on"
        case .valueTooLong(let count, let maximum): "the value has \(count) octets, and at most \(maximum) fit"
        }
    }
}
