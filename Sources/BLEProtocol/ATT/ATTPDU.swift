/// A PDU of the Attribute Protocol.
///
/// Values are slices of the octets that were decoded: nothing is copied.
/// Source: Core Specification, Vol 3, Part F, 3.3 and 3.4.
package protocol ATTPDU: Hashable, Sendable {
    /// The PDU's first octet.
    static var opcode: ATTOpcode { get }

    /// Reads the fields after the opcode. Unread octets make the decoding fail.
    init(parameters: inout ATTParameterReader) throws(ATTDecodingError)

    /// Appends the fields after the opcode.
    func encodeParameters(into writer: inout ByteWriter)

    /// The number of octets that the fields need; a hint that saves a reallocation.
    var parameterCount: Int { get }
}

/// A PDU that the server answers, with ``Response`` or with an Error Response.
package protocol ATTRequest: ATTPDU {
    associatedtype Response: ATTPDU
}

extension ATTPDU {
    package var parameterCount: Int { 22 }

    /// Decodes a whole PDU, opcode first; the reader is at its end afterwards.
    package init(decoding reader: inout ByteReader) throws(ATTDecodingError) {
        let length = reader.remaining.count
        guard let opcode = reader.uint8() else {
            throw ATTDecodingError(opcode: Self.opcode, offset: 0, reason: .truncated)
        }
        guard opcode == Self.opcode.rawValue else {
            throw ATTDecodingError(opcode: Self.opcode, offset: 0, reason: .wrongOpcode)
        }
        var parameters = ATTParameterReader(reader.rest(), of: Self.opcode, length: length)
        try self.init(parameters: &parameters)
        guard parameters.isAtEnd else { throw parameters.error(.trailingOctets) }
    }

    /// Decodes a whole PDU, opcode first.
    package init(decoding pdu: ArraySlice<UInt8>) throws(ATTDecodingError) {
        var reader = ByteReader(pdu)
        try self.init(decoding: &reader)
    }

    /// Decodes a whole PDU, opcode first.
    package init(decoding pdu: [UInt8]) throws(ATTDecodingError) { try self.init(decoding: pdu[...]) }

    /// Appends the whole PDU, opcode first.
    package func encode(into writer: inout ByteWriter) {
        writer.uint8(Self.opcode.rawValue)
        encodeParameters(into: &writer)
    }

    /// The whole PDU, opcode first.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 1 + parameterCount)
        encode(into: &writer)
        return writer.bytes
    }
}

/// The sizes that the Attribute Protocol fixes. Source: Core Specification, Vol 3, Part F, 3.2.8, 3.2.9 and Part G,
/// 5.2.1.
package enum ATTLimits {
    /// ATT_MTU on LE before an exchange, and the smallest value that may be offered.
    package static let defaultMTU = 23
    /// The longest value that an attribute may have.
    package static let maximumValueLength = 512
    /// The largest useful ATT_MTU: it fits a Prepare Write with a whole value.
    package static let usefulMTU = 517
}
