/// Queues a part of a value on the server.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.6.1.
package struct ATTPrepareWriteRequest: ATTRequest {
    package typealias Response = ATTPrepareWriteResponse
    package static let opcode = ATTOpcode.prepareWriteRequest

    package var handle: UInt16
    /// The offset of the part in the value, counted from 0.
    package var offset: UInt16
    package var part: ArraySlice<UInt8>

    package init(handle: UInt16, offset: UInt16, part: ArraySlice<UInt8>) {
        self.handle = handle
        self.offset = offset
        self.part = part
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handle = try parameters.uint16()
        offset = try parameters.uint16()
        part = parameters.rest()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(handle)
        writer.uint16(offset)
        writer.append(part)
    }

    package var parameterCount: Int { 4 + part.count }
}

/// The echo of the queued part.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.6.2.
package struct ATTPrepareWriteResponse: ATTPDU {
    package static let opcode = ATTOpcode.prepareWriteResponse

    package var handle: UInt16
    package var offset: UInt16
    package var part: ArraySlice<UInt8>

    package init(handle: UInt16, offset: UInt16, part: ArraySlice<UInt8>) {
        self.handle = handle
        self.offset = offset
        self.part = part
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handle = try parameters.uint16()
        offset = try parameters.uint16()
        part = parameters.rest()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(handle)
        writer.uint16(offset)
        writer.append(part)
    }

    package var parameterCount: Int { 4 + part.count }
}
