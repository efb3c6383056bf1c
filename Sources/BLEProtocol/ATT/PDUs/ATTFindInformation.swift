/// Requests the types of the attributes within a range of handles.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.3.1.
package struct ATTFindInformationRequest: ATTRequest {
    package typealias Response = ATTFindInformationResponse
    package static let opcode = ATTOpcode.findInformationRequest

    package var startHandle: UInt16
    package var endHandle: UInt16

    package init(startHandle: UInt16, endHandle: UInt16) {
        self.startHandle = startHandle
        self.endHandle = endHandle
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        startHandle = try parameters.uint16()
        endHandle = try parameters.uint16()
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(startHandle)
        writer.uint16(endHandle)
    }
}

/// Handles and types, ascending; all types of one width.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.3.2.
package struct ATTFindInformationResponse: ATTPDU {
    package static let opcode = ATTOpcode.findInformationResponse

    /// The width of the types.
    package enum Format: UInt8, Hashable, Sendable {
        case bits16 = 1
        case bits128 = 2

        /// The octets of a handle and a type.
        package var entryLength: Int { self == .bits16 ? 4 : 18 }

        /// The width in which ATT sends a type.
        package init(for type: BluetoothUUID) { self = type.short == nil ? .bits128 : .bits16 }
    }

    package struct Entry: Hashable, Sendable {
        package var handle: UInt16
        package var type: BluetoothUUID

        package init(handle: UInt16, type: BluetoothUUID) {
            self.handle = handle
            self.type = type
        }
    }

    package var format: Format
    /// One or more; each type must have the width that ``format`` states.
    package var entries: [Entry]

    package init(format: Format, entries: [Entry]) {
        self.format = format
        self.entries = entries
    }

    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        let invalidFormat = parameters.error(.invalidFormat)
        guard let format = Format(rawValue: try parameters.uint8()) else { throw invalidFormat }
        self.format = format
        let width = format.entryLength - 2
        entries = try parameters.entries(of: format.entryLength) { reader throws(ATTDecodingError) in
            let handle = try reader.uint16()
            guard let type = BluetoothUUID(littleEndian: try reader.bytes(width)) else {
                throw reader.error(.invalidUUIDLength)
            }
            return Entry(handle: handle, type: type)
        }
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(format.rawValue)
        for entry in entries {
            writer.uint16(entry.handle)
            switch format {
            case .bits16:
                guard let short = entry.type.short else {
                    preconditionFailure("\(entry.type) has no 16-bit form, which the format asks for")
                }
                writer.uint16(short)
            case .bits128:
                writer.append(entry.type.littleEndianOctets128)
            }
        }
    }

    package var parameterCount: Int { 1 + entries.count * format.entryLength }
}
