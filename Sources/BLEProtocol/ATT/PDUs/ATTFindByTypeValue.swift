/// Requests the attributes of a type that have a given value, and the groups that they begin.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.3.3.
package struct ATTFindByTypeValueRequest: ATTRequest {
    package typealias Response = ATTFindByTypeValueResponse
    package static let opcode = ATTOpcode.findByTypeValueRequest

    package var startHandle: UInt16
    package var endHandle: UInt16
    /// The type's 16-bit form; no other form fits.
    package var type: UInt16
    package var value: ArraySlice<UInt8>

    package init(startHandle: UInt16, endHandle: UInt16, type: UInt16, value: ArraySlice<UInt8>) {
        self.startHandle = startHandle
        self.endHandle = endHandle
        self.type = type
        self.value = value
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        startHandle = try parameters.uint16()
        endHandle = try parameters.uint16()
        type = try parameters.uint16()
        value = parameters.rest()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(startHandle)
        writer.uint16(endHandle)
        writer.uint16(type)
        writer.append(value)
    }

    package var parameterCount: Int { 6 + value.count }
}

/// The attributes found, each with the end of its group.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.3.4.
package struct ATTFindByTypeValueResponse: ATTPDU {
    package static let opcode = ATTOpcode.findByTypeValueResponse

    package struct Entry: Hashable, Sendable {
        package var handle: UInt16
        package var groupEndHandle: UInt16

        package init(handle: UInt16, groupEndHandle: UInt16) {
            self.handle = handle
            self.groupEndHandle = groupEndHandle
        }
    }

    /// One or more.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        entries = try parameters.entries(of: 4) { reader throws(ATTDecodingError) in
            Entry(handle: try reader.uint16(), groupEndHandle: try reader.uint16())
        }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        for entry in entries {
            writer.uint16(entry.handle)
            writer.uint16(entry.groupEndHandle)
        }
    }

    package var parameterCount: Int { entries.count * 4 }
}
