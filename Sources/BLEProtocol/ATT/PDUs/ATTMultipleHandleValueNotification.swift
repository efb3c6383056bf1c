/// Several notifications in one PDU, for clients that have declared support for it.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.7.4.
package struct ATTMultipleHandleValueNotification: ATTPDU {
    package static let opcode = ATTOpcode.multipleHandleValueNotification

    package struct Entry: Hashable, Sendable {
        package var handle: UInt16
        package var value: ArraySlice<UInt8>

        package init(handle: UInt16, value: ArraySlice<UInt8>) {
            self.handle = handle
            self.value = value
        }

        fileprivate init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
            handle = try parameters.uint16()
            let length = Int(try parameters.uint16())
            value = try parameters.bytes(length)
        }
    }

    /// The specification requires two or more, never cut. A single one is accepted: BlueZ sends it.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        guard !parameters.isAtEnd else { throw parameters.error(.tooFewEntries) }
        entries = []
        while !parameters.isAtEnd { entries.append(try Entry(parameters: &parameters)) }
    }

    /// Passes on each entry of a PDU with this opcode, in order, up to the one that it cuts, if any.
    ///
    /// - Throws: behind the whole entries, if there is something else, or nothing.
    package static func forEachEntry(
        of pdu: [UInt8],
        _ body: (Entry) -> Void
    ) throws(ATTDecodingError) {
        var parameters = ATTParameterReader(pdu.dropFirst(), of: opcode, length: pdu.count)
        guard !parameters.isAtEnd else { throw parameters.error(.tooFewEntries) }
        while !parameters.isAtEnd { body(try Entry(parameters: &parameters)) }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        for entry in entries {
            precondition(entry.value.count <= Int(UInt16.max), "a value has 512 octets at most")
            writer.uint16(entry.handle)
            writer.uint16(UInt16(entry.value.count))
            writer.append(entry.value)
        }
    }

    package var parameterCount: Int { entries.reduce(0) { $0 + 4 + $1.value.count } }
}
