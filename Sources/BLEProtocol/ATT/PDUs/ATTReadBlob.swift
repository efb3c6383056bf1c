/// Requests an attribute's value from an offset on.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.5.
package struct ATTReadBlobRequest: ATTRequest {
    package typealias Response = ATTReadBlobResponse
    package static let opcode = ATTOpcode.readBlobRequest

    package var handle: UInt16
    /// The offset of the first requested octet, counted from 0.
    package var offset: UInt16

    package init(handle: UInt16, offset: UInt16) {
        self.handle = handle
        self.offset = offset
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handle = try parameters.uint16()
        offset = try parameters.uint16()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(handle)
        writer.uint16(offset)
    }
}

/// A part of an attribute's value, cut at ATT_MTU - 1 octets; empty if the value ends at the offset.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.6.
package struct ATTReadBlobResponse: ATTPDU {
    package static let opcode = ATTOpcode.readBlobResponse

    package var part: ArraySlice<UInt8>

    package init(part: ArraySlice<UInt8>) { self.part = part }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) { part = parameters.rest() }

    package func encodeParameters(into writer: inout ByteWriter) { writer.append(part) }

    package var parameterCount: Int { part.count }
}
