/// Requests the values of two or more attributes at once; all but the last have a known length.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.7.
package struct ATTReadMultipleRequest: ATTRequest {
    package typealias Response = ATTReadMultipleResponse
    package static let opcode = ATTOpcode.readMultipleRequest

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

/// The values one after another, cut at ATT_MTU - 1 octets.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.8.
package struct ATTReadMultipleResponse: ATTPDU {
    package static let opcode = ATTOpcode.readMultipleResponse

    package var values: ArraySlice<UInt8>

    package init(values: ArraySlice<UInt8>) { self.values = values }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) { values = parameters.rest() }

    package func encodeParameters(into writer: inout ByteWriter) { writer.append(values) }

    package var parameterCount: Int { values.count }
}

extension ATTParameterReader {
    /// Reads handles to the end: at least two.
    mutating func handles() throws(ATTDecodingError) -> [UInt16] {
        guard count >= 4 else { throw error(.tooFewEntries) }
        return try entries(of: 2) { reader throws(ATTDecodingError) in try reader.uint16() }
    }
}
