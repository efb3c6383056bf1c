/// Requests the values of two or more attributes of any length at once.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.11.
package struct ATTReadMultipleVariableRequest: ATTRequest {
    package typealias Response = ATTReadMultipleVariableResponse
    package static let opcode = ATTOpcode.readMultipleVariableRequest

    /// Two or more.
    package var handles: [UInt16]

    package init(handles: [UInt16]) { self.handles = handles }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handles = try parameters.handles()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        for handle in handles { writer.uint16(handle) }
    }

    package var parameterCount: Int { handles.count * 2 }
}

/// Lengths and values; the last value may be cut at the end of the PDU.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.12.
package struct ATTReadMultipleVariableResponse: ATTPDU {
    package static let opcode = ATTOpcode.readMultipleVariableResponse

    package struct Entry: Hashable, Sendable {
        /// The length of the attribute's value, even if ``value`` is cut.
        package var length: UInt16
        /// The value, or as much of its beginning as fitted.
        package var value: ArraySlice<UInt8>

        package init(length: UInt16, value: ArraySlice<UInt8>) {
            self.length = length
            self.value = value
        }

        /// Whether the server cut the value to make it fit.
        package var isCut: Bool { value.count < Int(length) }
    }

    /// One or more; only the last may be cut.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        guard !parameters.isAtEnd else { throw parameters.error(.tooFewEntries) }
        entries = []
        while !parameters.isAtEnd {
            let length = try parameters.uint16()
            entries.append(Entry(length: length, value: try parameters.bytes(min(Int(length), parameters.count))))
        }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        for entry in entries {
            writer.uint16(entry.length)
            writer.append(entry.value)
        }
    }

    package var parameterCount: Int { entries.reduce(0) { $0 + 2 + $1.value.count } }
}
