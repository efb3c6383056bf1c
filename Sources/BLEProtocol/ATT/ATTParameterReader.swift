/// Reads the fields of a PDU after its opcode; a missing field becomes an ``ATTDecodingError``.
package struct ATTParameterReader {
    private var reader: ByteReader
    private let opcode: ATTOpcode
    private let length: Int

    /// Reads `parameters`, the octets after the opcode of a PDU of `length` octets.
    package init(_ parameters: ArraySlice<UInt8>, of opcode: ATTOpcode, length: Int) {
        reader = ByteReader(parameters)
        self.opcode = opcode
        self.length = length
    }

    package var isAtEnd: Bool { reader.isAtEnd }

    /// The number of unread octets.
    package var count: Int { reader.remaining.count }

    /// An error at the current position.
    package func error(_ reason: ATTDecodingError.Reason) -> ATTDecodingError {
        ATTDecodingError(opcode: opcode, offset: length - reader.remaining.count, reason: reason)
    }

    package mutating func uint8() throws(ATTDecodingError) -> UInt8 {
        guard let value = reader.uint8() else { throw error(.truncated) }
        return value
    }

    package mutating func uint16() throws(ATTDecodingError) -> UInt16 {
        guard let value = reader.uint16() else { throw error(.truncated) }
        return value
    }

    package mutating func bytes(_ count: Int) throws(ATTDecodingError) -> ArraySlice<UInt8> {
        guard let value = reader.bytes(count) else { throw error(.truncated) }
        return value
    }

    /// The unread octets.
    package mutating func rest() -> ArraySlice<UInt8> { reader.rest() }

    /// The unread octets, which must be a UUID of 2 or 16 octets.
    package mutating func uuid() throws(ATTDecodingError) -> BluetoothUUID {
        guard count == 2 || count == 16, let uuid = BluetoothUUID(littleEndian: reader.remaining) else {
            throw error(.invalidUUIDLength)
        }
        _ = reader.rest()
        return uuid
    }

    /// Reads entries of `size` octets to the end: at least one, and only whole ones.
    package mutating func entries<Entry>(
        of size: Int,
        _ decode: (inout ATTParameterReader) throws(ATTDecodingError) -> Entry
    ) throws(ATTDecodingError) -> [Entry] {
        guard size > 0 else { throw error(.invalidEntryLength) }
        guard !isAtEnd else { throw error(.tooFewEntries) }
        guard count.isMultiple(of: size) else { throw error(.incompleteEntry) }
        var entries: [Entry] = []
        entries.reserveCapacity(count / size)
        while !isAtEnd { entries.append(try decode(&self)) }
        return entries
    }
}
