/// A request as octets, with the means to recognise its answer.
package struct GATTRequest: Hashable, Sendable {
    package let pdu: [UInt8]
    package let opcode: ATTOpcode
    package let responseOpcode: ATTOpcode

    /// The one attribute that it names; `nil` if it names none, several or a range.
    private let handle: UInt16?
    /// Whether the response begins with that handle too; if it doesn't, it answers another request.
    private let isRepeated: Bool

    package init<Request: ATTRequest>(_ request: Request) {
        pdu = request.encoded
        opcode = Request.opcode
        responseOpcode = Request.Response.opcode
        isRepeated = false
        switch Request.opcode {
        case .readRequest, .readBlobRequest, .writeRequest, .prepareWriteRequest: handle = pdu.handle(at: 1)
        default: handle = nil
        }
    }

    /// A request for the attribute at one handle, if there is one; all its answers repeat that handle.
    package init(findingInformationAt handle: UInt16) {
        let request = ATTFindInformationRequest(startHandle: handle, endHandle: handle)
        pdu = request.encoded
        opcode = ATTFindInformationRequest.opcode
        responseOpcode = ATTFindInformationResponse.opcode
        self.handle = handle
        isRepeated = true
    }
}

// MARK: - Matching answers

extension GATTRequest {
    /// The relation of the peer's response to a request.
    package enum Relation: Hashable, Sendable {
        /// It is the answer.
        case answer
        /// An error for the right kind of request and another attribute: the answer to another request, or from a
        /// server that is careless about the handle.
        case perhaps
        /// It answers something else.
        case foreign
    }

    /// Whether a response answers the request, by its opcode, and by the handle if the request names one.
    ///
    /// An error for a range or for several attributes may name any of them, and many servers name another one than the
    /// specification requires; for these the opcode alone decides. Handle 0 means that the server names none.
    /// Source: Core Specification, Vol 3, Part F, 3.4.1.1.
    package func relation(to pdu: [UInt8]) -> Relation {
        switch pdu.first {
        case responseOpcode.rawValue:
            return isRepeated && pdu.handle(at: 2) != handle ? .foreign : .answer
        case ATTOpcode.errorResponse.rawValue:
            guard pdu.count >= 2, pdu[1] == opcode.rawValue else { return .foreign }
            guard let handle, let told = pdu.handle(at: 2) else { return .answer }
            return told == handle || told == 0 ? .answer : .perhaps
        default:
            return .foreign
        }
    }
}

extension [UInt8] {
    /// The handle that begins at an octet; `nil` if there are too few octets.
    fileprivate func handle(at offset: Int) -> UInt16? {
        count >= offset + 2 ? UInt16(self[offset]) | UInt16(self[offset + 1]) << 8 : nil
    }
}
