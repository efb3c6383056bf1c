/// Reads an attribute's value, or the part after an offset, whatever its length.
///
/// One Read Request suffices for a value shorter than ATT_MTU - 1. A longer one is continued with Read Blob Requests up
/// to its end or 512 octets; what a peer sends beyond that is ignored. A value that a peer may have cut by the ATT_MTU
/// of an earlier program is continued in the same way. With an offset the Read Request is omitted. A value that is
/// refused as not long since ATT_MTU has grown meanwhile is read once more from the beginning.
/// Source: Core Specification, Vol 3, Part G, 4.8.1, 4.8.3, 4.12.1 and 4.12.2.
package struct ReadValue: GATTProcedure {
    package static let isRepeatable = true

    package let handle: UInt16
    package let offset: UInt16

    package var handles: [UInt16] { [handle] }

    private var value: [UInt8] = []
    private var isFirst = true
    /// Whether it has begun once more, since ATT_MTU had grown meanwhile.
    private var isAgain = false

    package init(handle: UInt16, offset: UInt16 = 0) {
        self.handle = handle
        self.offset = offset
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        offset == 0 ? .send(ATTReadRequest(handle: handle)) : nextBlob()
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[UInt8]>
    {
        if !isFirst, let error = answer.error, Self.endsValue(error) { return try end(at: error, context) }
        let octets =
            isFirst && offset == 0
            ? try answer.response(to: ATTReadRequest.self).value
            : try answer.response(to: ATTReadBlobRequest.self).part
        isFirst = false
        // What a peer sends beyond ATT_MTU is read again, as if a buffer of ATT_MTU octets had cut it.
        let part = octets.prefix(answer.mtu - 1)
        value.append(contentsOf: part.prefix(max(0, ATTLimits.maximumValueLength - end)))
        let isComplete = part.count < answer.leastMTU - 1 || end >= ATTLimits.maximumValueLength
        return isComplete ? .finished(value) : nextBlob()
    }

    /// Most values come in one response: they stay in its PDU, instead of being copied out of it.
    package mutating func erasedReceived(_ answer: GATTAnswer, _ context: GATTContext) -> GATTErasedStep {
        if isFirst, offset == 0, case .response(let pdu) = answer.content, pdu.count < answer.leastMTU,
            pdu.first == ATTReadResponse.opcode.rawValue
        {
            return .ended(.success(.octets(pdu.dropFirst().prefix(ATTLimits.maximumValueLength))))
        }
        do throws(GATTFailure) { return GATTErasedStep(try received(answer, context)) } catch {
            return .ended(.failure(error))
        }
    }

    /// The peer has refused the part after the last one, with an error that ends a value.
    private mutating func end(at error: ATTError, _ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        // An exchange came in between: a value that was long may be short by the ATT_MTU of now, and have more octets.
        guard error != .invalidOffset, end < context.mtu - 1, !isAgain else { return .finished(value) }
        guard offset == 0 else { throw .attribute(error, handle: handle) }
        (value, isFirst, isAgain) = ([], true, true)
        return try start(context)
    }

    private var end: Int { Int(offset) + value.count }

    private func nextBlob() -> GATTStep<[UInt8]> {
        .send(ATTReadBlobRequest(handle: handle, offset: UInt16(clamping: end)))
    }

    /// Whether an error after the first part means that the value is complete. A value of exactly ATT_MTU - 1 octets
    /// may be "not long"; and a server without Read Blob has no longer values.
    private static func endsValue(_ error: ATTError) -> Bool {
        error == .invalidOffset || error == .attributeNotLong || error == .requestNotSupported
    }
}
