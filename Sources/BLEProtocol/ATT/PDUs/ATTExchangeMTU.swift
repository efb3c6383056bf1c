/// States the longest PDU that the client accepts. At most once per connection.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.2.1.
package struct ATTExchangeMTURequest: ATTRequest {
    package typealias Response = ATTExchangeMTUResponse
    package static let opcode = ATTOpcode.exchangeMTURequest

    /// The longest PDU that the client accepts, in octets; less than 23 counts as 23.
    package var clientMTU: UInt16

    package init(clientMTU: UInt16) { self.clientMTU = clientMTU }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        clientMTU = try parameters.uint16()
    }

    package func encodeParameters(into writer: inout ByteWriter) { writer.uint16(clientMTU) }
}

/// Source: Core Specification, Vol 3, Part F, 3.4.2.2.
package struct ATTExchangeMTUResponse: ATTPDU {
    package static let opcode = ATTOpcode.exchangeMTUResponse

    /// The longest PDU that the server accepts, in octets; less than 23 counts as 23.
    package var serverMTU: UInt16

    package init(serverMTU: UInt16) { self.serverMTU = serverMTU }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        serverMTU = try parameters.uint16()
    }

    package func encodeParameters(into writer: inout ByteWriter) { writer.uint16(serverMTU) }
}
