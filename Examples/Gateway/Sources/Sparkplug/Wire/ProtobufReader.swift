/// Reads the fields of a protobuf message, whoever has written it. Source: protobuf, "Encoding".
struct ProtobufReader {
    /// The value of a field.
    enum Value {
        case number(UInt64)
        case octets(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>

    init(_ octets: some Collection<UInt8>) { rest = ArraySlice(octets) }

    /// The next field; `nil` at the end.
    ///
    /// - Throws: ``SparkplugError`` if the octets are no message.
    mutating func next() throws(SparkplugError) -> (field: Int, value: Value)? {
        guard !rest.isEmpty else { return nil }
        let tag = try varint()
        guard let field = Int(exactly: tag >> 3), field > 0 else {
            throw SparkplugError(cause: "a field has no number")
        }
        switch WireType(rawValue: UInt8(tag & 7)) {
        case .varint: return (field, .number(try varint()))
        case .fixed64: return (field, .number(number(try take(8))))
        case .fixed32: return (field, .number(number(try take(4))))
        case .lengthDelimited: return (field, .octets(try take(try varint())))
        case nil: throw SparkplugError(cause: "field \(field) has no known type")
        }
    }

    private mutating func varint() throws(SparkplugError) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while let octet = rest.popFirst() {
            guard shift < 64 else { throw SparkplugError(cause: "a number has more than 64 bits") }
            value |= UInt64(octet & 0x7F) << shift
            if octet < 0x80 { return value }
            shift += 7
        }
        throw SparkplugError(cause: "it ends within a number")
    }

    private mutating func take(_ count: UInt64) throws(SparkplugError) -> ArraySlice<UInt8> {
        guard count <= UInt64(rest.count) else { throw SparkplugError(cause: "it ends within a field") }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    private func number(_ octets: ArraySlice<UInt8>) -> UInt64 {
        octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// A payload that can't be read.
public struct SparkplugError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public var cause: String

    public var description: String { "Sparkplug: the payload can't be read: \(cause). Check what sends it." }
}
