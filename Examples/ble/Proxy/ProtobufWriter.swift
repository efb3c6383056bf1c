/// Encodes the fields of a Protocol Buffers message.
///
/// A field with its default value (0, false, no octets) is left out, as proto3 requires.
struct ProtobufWriter {
    /// What has been encoded so far.
    private(set) var octets: [UInt8] = []

    /// The encoding of the fields that the closure writes.
    static func encode(_ fields: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = ProtobufWriter()
        fields(&writer)
        return writer.octets
    }

    /// `uint32`, `uint64`, `enum`.
    mutating func field(_ number: Int, _ value: some UnsignedInteger) {
        guard value != 0 else { return }
        key(number, .varint)
        octets.appendVarint(UInt64(value))
    }

    /// `bool`.
    mutating func field(_ number: Int, _ value: Bool) { field(number, value ? 1 as UInt64 : 0) }

    /// `int32`: a negative number takes all ten octets.
    mutating func field(_ number: Int, int32 value: Int32) { field(number, UInt64(bitPattern: Int64(value))) }

    /// `sint32`: small numbers of either sign are short.
    mutating func field(_ number: Int, sint32 value: Int32) {
        field(number, UInt32(bitPattern: value << 1 ^ value >> 31))
    }

    /// `bytes`.
    mutating func field(_ number: Int, _ value: some Collection<UInt8>) {
        guard !value.isEmpty else { return }
        lengthDelimited(number, value)
    }

    /// `string`.
    mutating func field(_ number: Int, _ text: String) { field(number, text.utf8) }

    /// A message. One without fields is written all the same, since it may be one of several.
    mutating func field(_ number: Int, message: (inout ProtobufWriter) -> Void) {
        lengthDelimited(number, Self.encode(message))
    }

    /// `repeated uint64`, packed.
    mutating func field(_ number: Int, packed values: [UInt64]) {
        var packed: [UInt8] = []
        for value in values { packed.appendVarint(value) }
        field(number, packed)
    }

    private mutating func lengthDelimited(_ number: Int, _ value: some Collection<UInt8>) {
        key(number, .lengthDelimited)
        octets.appendVarint(UInt64(value.count))
        octets += value
    }

    private mutating func key(_ number: Int, _ type: ProtobufMessage.WireType) {
        octets.appendVarint(UInt64(number) << 3 | type.rawValue)
    }
}

extension [UInt8] {
    /// Appends a base-128 number (a varint), the lowest seven bits first.
    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}
