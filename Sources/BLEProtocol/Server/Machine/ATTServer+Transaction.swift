/// The parts of a request on its way to its response.
extension ATTServer {
    /// A request, and the conditions when it was received.
    struct Request: Sendable {
        var pdu: [UInt8]
        var opcode: ATTOpcode
        var security: ATTSecurity
        /// A request that crosses an exchange is answered with the MTU from before (Vol 3, Part F, 3.4.2).
        var mtu: Int
    }

    /// A PDU that answers a request, and the MTU that applies once it is sent.
    struct Response: Sendable {
        var pdu: [UInt8]
        var mtu: Int?

        init(_ pdu: some ATTPDU, mtu: Int? = nil) {
            self.pdu = pdu.encoded
            self.mtu = mtu
        }
    }

    /// A request that can't continue before the program has answered.
    struct Question: Sendable {
        var token: RequestToken
        var request: Request
        var continuation: Continuation
    }

    /// How a request continues when the program has answered.
    enum Continuation: Sendable {
        case read(handle: UInt16, offset: Int)
        case readByType(handle: UInt16)
        case readMultiple(MultipleRead)
        case write(handle: UInt16)
        case execute(handle: UInt16, rest: ArraySlice<ExecutionStep>)
    }

    /// Why a request fails, and the attribute that caused it.
    struct Refusal: Error {
        var handle: UInt16
        var error: ATTError

        init(_ error: ATTError, handle: UInt16 = 0) {
            self.handle = handle
            self.error = error
        }
    }
}

extension ATTErrorResponse {
    /// These codes concern no attribute: they name no handle (Vol 3, Part F, 3.4.1.1).
    private static let withoutHandle: Set<ATTError> = [.invalidPDU, .requestNotSupported]

    init(request: ATTOpcode, _ refusal: ATTServer.Refusal) {
        self.init(
            request: request,
            handle: Self.withoutHandle.contains(refusal.error) ? 0 : refusal.handle,
            error: refusal.error
        )
    }
}
