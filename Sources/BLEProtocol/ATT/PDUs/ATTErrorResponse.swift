/// The answer to a request that failed.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.1.1.
package struct ATTErrorResponse: ATTPDU {
    package static let opcode = ATTOpcode.errorResponse

    /// The opcode of the request that failed.
    package var request: ATTOpcode
    /// The attribute that failed, as the server reports it: 0 if none did. Don't use it for matching.
    package var handle: UInt16
    package var error: ATTError

    package init(request: ATTOpcode, handle: UInt16, error: ATTError) {
        self.request = request
        self.handle = handle
        self.error = error
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        request = ATTOpcode(rawValue: try parameters.uint8())
        handle = try parameters.uint16()
        error = ATTError(rawValue: try parameters.uint8())
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(request.rawValue)
        writer.uint16(handle)
        writer.uint8(error.rawValue)
    }
}
