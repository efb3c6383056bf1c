/// Requests the values of the attributes of one type.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.1.
package struct ATTReadByTypeRequest: ATTRequest {
    package typealias Response = ATTReadByTypeResponse
    package static let opcode = ATTOpcode.readByTypeRequest

    package var startHandle: UInt16
    package var endHandle: UInt16
    package var type: BluetoothUUID

    package init(startHandle: UInt16, endHandle: UInt16, type: BluetoothUUID) {
        self.startHandle = startHandle
        self.endHandle = endHandle
        self.type = type
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        startHandle = try parameters.uint16()
        endHandle = try parameters.uint16()
        type = try parameters.uuid()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(startHandle)
        writer.uint16(endHandle)
        writer.append(type.attOctets)
    }
}

/// Handles and values; all values of one length.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.2.
package struct ATTReadByTypeResponse: ATTPDU {
    package static let opcode = ATTOpcode.readByTypeResponse

    /// The longest value that an entry can hold, in octets; the length octet can't express more.
    package static let maximumValueLength = 253

    package struct Entry: Hashable, Sendable {
        package var handle: UInt16
        package var value: ArraySlice<UInt8>

        package init(handle: UInt16, value: ArraySlice<UInt8>) {
            self.handle = handle
            self.value = value
        }
    }

    /// One or more, with values of the same length, 0 to 253 octets.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        let invalidLength = parameters.error(.invalidEntryLength)
        let length = Int(try parameters.uint8())
        guard length >= 2 else { throw invalidLength }
        entries = try parameters.entries(of: length) { reader throws(ATTDecodingError) in
            Entry(handle: try reader.uint16(), value: try reader.bytes(length - 2))
        }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        let length = entries.first?.value.count ?? 0
        precondition(length <= Self.maximumValueLength, "a value of Read By Type has 253 octets at most")
        writer.uint8(UInt8(length + 2))
        for entry in entries {
            precondition(entry.value.count == length, "all values of a Read By Type Response have one length")
            writer.uint16(entry.handle)
            writer.append(entry.value)
        }
    }

    package var parameterCount: Int { 1 + entries.count * (2 + (entries.first?.value.count ?? 0)) }
}
