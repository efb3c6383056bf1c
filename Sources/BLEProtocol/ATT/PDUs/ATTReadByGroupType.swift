/// Requests the values of the attributes of a grouping type, and the ends of their groups.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.9.
package struct ATTReadByGroupTypeRequest: ATTRequest {
    package typealias Response = ATTReadByGroupTypeResponse
    package static let opcode = ATTOpcode.readByGroupTypeRequest

    package var startHandle: UInt16
    package var endHandle: UInt16
    package var groupType: BluetoothUUID

    package init(startHandle: UInt16, endHandle: UInt16, groupType: BluetoothUUID) {
        self.startHandle = startHandle
        self.endHandle = endHandle
        self.groupType = groupType
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        startHandle = try parameters.uint16()
        endHandle = try parameters.uint16()
        groupType = try parameters.uuid()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(startHandle)
        writer.uint16(endHandle)
        writer.append(groupType.attOctets)
    }
}

/// Groups: first handle, last handle, and the value of the attribute that begins the group; all values of one length.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.4.10.
package struct ATTReadByGroupTypeResponse: ATTPDU {
    package static let opcode = ATTOpcode.readByGroupTypeResponse

    /// The longest value that an entry can hold, in octets; the length octet can't express more.
    package static let maximumValueLength = 251

    package struct Entry: Hashable, Sendable {
        package var handle: UInt16
        package var groupEndHandle: UInt16
        package var value: ArraySlice<UInt8>

        package init(handle: UInt16, groupEndHandle: UInt16, value: ArraySlice<UInt8>) {
            self.handle = handle
            self.groupEndHandle = groupEndHandle
            self.value = value
        }
    }

    /// One or more, with values of the same length, 0 to 251 octets.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        let invalidLength = parameters.error(.invalidEntryLength)
        let length = Int(try parameters.uint8())
        guard length >= 4 else { throw invalidLength }
        entries = try parameters.entries(of: length) { reader throws(ATTDecodingError) in
            Entry(
                handle: try reader.uint16(),
                groupEndHandle: try reader.uint16(),
                value: try reader.bytes(length - 4)
            )
        }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        let length = entries.first?.value.count ?? 0
        precondition(length <= Self.maximumValueLength, "a value of Read By Group Type has 251 octets at most")
        writer.uint8(UInt8(length + 4))
        for entry in entries {
            precondition(entry.value.count == length, "all values of a Read By Group Type Response have one length")
            writer.uint16(entry.handle)
            writer.uint16(entry.groupEndHandle)
            writer.append(entry.value)
        }
    }

    package var parameterCount: Int { 1 + entries.count * (4 + (entries.first?.value.count ?? 0)) }
}
