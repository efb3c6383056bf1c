/// Reads little-endian fields from the front of a slice; every read reports when the octets run out.
///
/// It moves a position and leaves the octets as they are: removing from the front of a slice costs several times as
/// much.
package struct ByteReader {
    private let octets: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        octets = bytes
        position = bytes.startIndex
    }

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The unread octets.
    package var remaining: ArraySlice<UInt8> { octets[position...] }

    /// The number of unread octets.
    package var count: Int { octets.endIndex - position }

    package var isAtEnd: Bool { position == octets.endIndex }

    package mutating func uint8() -> UInt8? {
        guard count >= 1 else { return nil }
        defer { position += 1 }
        return octets[position]
    }

    package mutating func uint16() -> UInt16? {
        guard count >= 2 else { return nil }
        defer { position += 2 }
        return UInt16(octets[position]) | UInt16(octets[position + 1]) << 8
    }

    package mutating func uint32() -> UInt32? {
        guard count >= 4, let low = uint16(), let high = uint16() else { return nil }
        return UInt32(low) | UInt32(high) << 16
    }

    /// The next `count` octets; `nil`, and nothing is read, if there are fewer.
    package mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, self.count >= count else { return nil }
        defer { position += count }
        return octets[position..<position + count]
    }

    /// All unread octets.
    package mutating func rest() -> ArraySlice<UInt8> {
        defer { position = octets.endIndex }
        return remaining
    }
}
