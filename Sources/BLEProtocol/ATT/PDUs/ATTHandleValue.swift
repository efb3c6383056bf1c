/// A notification: a value that the server sends by itself, without a confirmation.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.7.1.
package struct ATTHandleValueNotification: ATTHandleAndValue {
    package static let opcode = ATTOpcode.handleValueNotification

    package var handle: UInt16
    /// The value, cut at ATT_MTU - 3 octets.
    package var value: ArraySlice<UInt8>

    package init(handle: UInt16, value: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
    }
}

/// An indication: a value that the server sends by itself, and the client confirms.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.7.2.
package struct ATTHandleValueIndication: ATTHandleAndValue {
    package static let opcode = ATTOpcode.handleValueIndication

    package var handle: UInt16
    /// The value, cut at ATT_MTU - 3 octets.
    package var value: ArraySlice<UInt8>

    package init(handle: UInt16, value: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
    }
}

/// The client's answer to an indication.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.7.3.
package struct ATTHandleValueConfirmation: ATTPDU {
    package static let opcode = ATTOpcode.handleValueConfirmation

    package init() {}

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {}

    package func encodeParameters(into writer: inout ByteWriter) {}

    package var parameterCount: Int { 0 }
}
