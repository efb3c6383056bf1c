/// Writes an attribute's value; the server never answers.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.5.3.
package struct ATTWriteCommand: ATTHandleAndValue {
    package static let opcode = ATTOpcode.writeCommand

    package var handle: UInt16
    package var value: ArraySlice<UInt8>

    package init(handle: UInt16, value: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
    }
}

/// A Write Command whose last twelve octets prove its sender.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.5.4.
package struct ATTSignedWriteCommand: ATTPDU {
    package static let opcode = ATTOpcode.signedWriteCommand

    /// The length of a signature in octets: a counter of 4, a code of 8.
    package static let signatureLength = 12

    package var handle: UInt16
    package var value: ArraySlice<UInt8>
    /// Twelve octets: the sign counter, least significant first, and the message authentication code.
    package var signature: ArraySlice<UInt8>

    package init(handle: UInt16, value: ArraySlice<UInt8>, signature: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
        self.signature = signature
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        handle = try parameters.uint16()
        guard parameters.count >= Self.signatureLength else { throw parameters.error(.truncated) }
        value = try parameters.bytes(parameters.count - Self.signatureLength)
        signature = parameters.rest()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        precondition(signature.count == Self.signatureLength, "a signature has twelve octets")
        writer.uint16(handle)
        writer.append(value)
        writer.append(signature)
    }

    package var parameterCount: Int { 2 + value.count + Self.signatureLength }
}
