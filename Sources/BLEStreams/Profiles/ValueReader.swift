import BLEProtocol

/// Reads the fields of a value, least significant octet first, and throws if too few octets are left.
public struct ValueReader {
    private let octets: ArraySlice<UInt8>
    private var position: Int

    /// The octets that have not been read yet.
    public var remaining: ArraySlice<UInt8> { octets[position...] }

    /// Whether everything has been read.
    public var isAtEnd: Bool { position == octets.endIndex }

    /// When the octets were received.
    public let time: ReceptionTime

    init(_ value: CharacteristicValue) {
        octets = value.bytes
        position = value.bytes.startIndex
        time = value.time
    }

    /// One octet.
    public mutating func uint8() throws(MalformedValue) -> UInt8 { UInt8(truncatingIfNeeded: try integer(1)) }
    /// One octet, signed.
    public mutating func int8() throws(MalformedValue) -> Int8 { Int8(truncatingIfNeeded: try integer(1)) }
    /// Two octets.
    public mutating func uint16() throws(MalformedValue) -> UInt16 { UInt16(truncatingIfNeeded: try integer(2)) }
    /// Two octets, signed.
    public mutating func int16() throws(MalformedValue) -> Int16 { Int16(truncatingIfNeeded: try integer(2)) }
    /// Four octets.
    public mutating func uint32() throws(MalformedValue) -> UInt32 { UInt32(truncatingIfNeeded: try integer(4)) }

    /// The given number of octets.
    public mutating func bytes(_ count: Int) throws(MalformedValue) -> ArraySlice<UInt8> {
        guard count >= 0, octets.endIndex - position >= count else {
            throw MalformedValue(
                "\(count) octets were expected at offset \(position - octets.startIndex) of \(octets.count)"
            )
        }
        defer { position += count }
        return octets[position..<position + count]
    }

    private mutating func integer(_ count: Int) throws(MalformedValue) -> UInt64 {
        try bytes(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
