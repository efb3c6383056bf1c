/// Makes the server write its queue, or discard it.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.6.3.
package struct ATTExecuteWriteRequest: ATTRequest {
    package typealias Response = ATTExecuteWriteResponse
    package static let opcode = ATTOpcode.executeWriteRequest

    /// What becomes of the queue; undefined octets are kept: a server answers them with Invalid PDU.
    package struct Flags: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let cancel = Flags(rawValue: 0x00)
        package static let write = Flags(rawValue: 0x01)
    }

    package var flags: Flags

    package init(_ flags: Flags) { self.flags = flags }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        flags = Flags(rawValue: try parameters.uint8())
    }

    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(flags.rawValue) }
}

/// Source: Core Specification, Vol 3, Part F, 3.4.6.4.
package struct ATTExecuteWriteResponse: ATTPDU {
    package static let opcode = ATTOpcode.executeWriteResponse

    package init() {}

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {}

    package func encodeParameters(into writer: inout ByteWriter) {}

    package var parameterCount: Int { 0 }
}
