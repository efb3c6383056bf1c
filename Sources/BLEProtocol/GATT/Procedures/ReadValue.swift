/// Reads an attribute's value, or what follows an offset in it, however long it is.
///
/// One Read Request suffices for a value shorter than ATT_MTU - 1; a longer one is read on with Read Blob Requests up
/// to its end or 512 octets; what a peer sends beyond is let go. With an offset the Read Request is left out.
/// Source: Core Specification, Vol 3, Part G, 4.8.1, 4.8.3, 4.12.1 and 4.12.2.
package struct ReadValue: GATTProcedure {
    package static let isRepeatable = true

    package let handle: UInt16
    package let offset: UInt16

    package var handles: [UInt16] { [handle] }

    /// Whether it reads from the beginning.
    package var isWhole: Bool { offset == 0 }

    private var value: [UInt8] = []
    private var isFirst = true

    package init(handle: UInt16, offset: UInt16 = 0) {
        self.handle = handle
        self.offset = offset
    }

    /// Reads on behind what is known of the value already, which becomes a part of the result.
    init(handle: UInt16, after beginning: [UInt8]) {
        self.init(handle: handle)
        value = beginning
        isFirst = beginning.isEmpty
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        offset == 0 && isFirst ? .send(ATTReadRequest(handle: handle)) : nextBlob()
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[UInt8]>
    {
        if !isFirst, let error = answer.error, Self.endsValue(error) { return .finished(value) }
        let octets =
            isFirst && offset == 0
            ? try answer.response(to: ATTReadRequest.self).value
            : try answer.response(to: ATTReadBlobRequest.self).part
        isFirst = false
        // What a peer sends beyond ATT_MTU is read again, as if a buffer of ATT_MTU octets had cut it.
        let count = min(octets.count, answer.mtu - 1)
        let part = octets.prefix(min(count, max(0, ATTLimits.maximumValueLength - end)))
        if value.isEmpty { value = Array(part) } else { value += part }
        let isComplete = count < answer.mtu - 1 || end >= ATTLimits.maximumValueLength
        return isComplete ? .finished(value) : nextBlob()
    }

    private var end: Int { Int(offset) + value.count }

    private func nextBlob() -> GATTStep<[UInt8]> {
        .send(ATTReadBlobRequest(handle: handle, offset: UInt16(clamping: end)))
    }

    /// Whether an error behind the first part means that the value has no more. A value of exactly ATT_MTU - 1 octets
    /// may be "not long"; and a server that knows no Read Blob has no longer ones.
    private static func endsValue(_ error: ATTError) -> Bool {
        error == .invalidOffset || error == .attributeNotLong || error == .requestNotSupported
    }
}
