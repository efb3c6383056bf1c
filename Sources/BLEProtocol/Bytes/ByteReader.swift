/// Reads little-endian fields from the front of a slice; every read tells when the octets run out.
package struct ByteReader {
    /// What has not been read yet.
    package private(set) var remaining: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { remaining = bytes }
    package init(_ bytes: [UInt8]) { remaining = bytes[...] }

    package var isAtEnd: Bool { remaining.isEmpty }

    package mutating func uint8() -> UInt8? { remaining.popFirst() }

    package mutating func uint16() -> UInt16? {
        guard remaining.count >= 2 else { return nil }
        let start = remaining.startIndex
        defer { remaining.removeFirst(2) }
        return UInt16(remaining[start]) | UInt16(remaining[start + 1]) << 8
    }

    package mutating func uint32() -> UInt32? {
        guard remaining.count >= 4, let low = uint16(), let high = uint16() else { return nil }
        return UInt32(low) | UInt32(high) << 16
    }

    /// The next `count` octets; `nil`, and nothing read, where there are fewer.
    package mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, remaining.count >= count else { return nil }
        defer { remaining.removeFirst(count) }
        return remaining.prefix(count)
    }

    /// All that is left.
    package mutating func rest() -> ArraySlice<UInt8> {
        defer { remaining = remaining.suffix(0) }
        return remaining
    }
}
