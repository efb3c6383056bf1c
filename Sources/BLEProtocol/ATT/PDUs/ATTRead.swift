/// Requests an attribute's value, or as much of its beginning as fits.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.3.
package struct ATTReadRequest: ATTRequest {
    package typealias Response = ATTReadResponse
    package static let opcode = ATTOpcode.readRequest

    package var handle: UInt16

    package init(handle: UInt16) { self.handle = handle }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handle = try parameters.uint16()
    }

    package func encodeParameters(into writer: inout ByteWriter) { writer.uint16(handle) }
}

/// An attribute's value, cut at ATT_MTU - 1 octets.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.4.
package struct ATTReadResponse: ATTPDU {
    package static let opcode = ATTOpcode.readResponse

    package var value: ArraySlice<UInt8>

    package init(value: ArraySlice<UInt8>) { self.value = value }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) { value = parameters.rest() }

    package func encodeParameters(into writer: inout ByteWriter) { writer.append(value) }

    package var parameterCount: Int { value.count }
}
