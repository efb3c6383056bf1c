/// Writes the fields of a protobuf message. Source: protobuf, "Encoding".
struct ProtobufWriter {
    private(set) var octets: [UInt8] = []

    private mutating func write(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        octets.append(UInt8(rest))
    }

    private mutating func writeTag(_ field: Int, _ type: WireType) {
        write(varint: UInt64(field) << 3 | UInt64(type.rawValue))
    }

    mutating func write(_ field: Int, _ value: UInt64) {
        writeTag(field, .varint)
        write(varint: value)
    }

    mutating func write(_ field: Int, _ value: Bool) { write(field, value ? UInt64(1) : 0) }

    mutating func write(_ field: Int, _ value: Double) {
        writeTag(field, .fixed64)
        for shift in stride(from: 0, to: 64, by: 8) {
            octets.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift))
        }
    }

    mutating func write(_ field: Int, _ value: [UInt8]) {
        writeTag(field, .lengthDelimited)
        write(varint: UInt64(value.count))
        octets += value
    }

    mutating func write(_ field: Int, _ value: String) { write(field, Array(value.utf8)) }

    mutating func write(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        var writer = ProtobufWriter()
        body(&writer)
        write(field, writer.octets)
    }
}

/// How a field's value is written.
enum WireType: UInt8 {
    case varint = 0
    case fixed64 = 1
    case lengthDelimited = 2
    case fixed32 = 5
}
