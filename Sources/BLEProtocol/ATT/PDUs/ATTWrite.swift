/// Writes an attribute's value with a response.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.5.1.
package struct ATTWriteRequest: ATTRequest, ATTHandleAndValue {
    package typealias Response = ATTWriteResponse
    package static let opcode = ATTOpcode.writeRequest

    package var handle: UInt16
    package var value: ArraySlice<UInt8>

    package init(handle: UInt16, value: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
    }
}

/// Source: Core Specification, Vol 3, Part F, 3.4.5.2.
package struct ATTWriteResponse: ATTPDU {
    package static let opcode = ATTOpcode.writeResponse

    package init() {}

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {}

    package func encodeParameters(into writer: inout ByteWriter) {}

    package var parameterCount: Int { 0 }
}
