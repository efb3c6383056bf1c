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
    }

    /// The specification requires two or more, never cut. A single one is accepted: BlueZ sends it.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        guard !parameters.isAtEnd else { throw parameters.error(.tooFewEntries) }
        entries = []
        while !parameters.isAtEnd {
            let handle = try parameters.uint16()
            let length = Int(try parameters.uint16())
            entries.append(Entry(handle: handle, value: try parameters.bytes(length)))
        }
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
