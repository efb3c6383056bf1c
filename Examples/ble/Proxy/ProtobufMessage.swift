/// The fields of a Protocol Buffers message, by number.
///
/// If a field occurs more than once, the last one counts; a missing field has its default value. Unknown fields are
/// skipped.
struct ProtobufMessage {
    enum WireType: UInt64 {
        case varint = 0
        case fixed64 = 1
        case lengthDelimited = 2
        case fixed32 = 5
    }

    private var numbers: [UInt64: UInt64] = [:]
    private var strings: [UInt64: ArraySlice<UInt8>] = [:]

    /// Reads a message.
    ///
    /// - Throws: ``ProxyViolation`` if the octets aren't a message.
    init(decoding octets: ArraySlice<UInt8>) throws(ProxyViolation) {
        var rest = octets
        while !rest.isEmpty {
            let key = try rest.takeVarint()
            switch WireType(rawValue: key & 7) {
            case .varint?: numbers[key >> 3] = try rest.takeVarint()
            case .fixed64?: _ = try rest.take(8)
            case .fixed32?: _ = try rest.take(4)
            case .lengthDelimited?: strings[key >> 3] = try rest.take(try rest.takeVarint())
            case nil: throw ProxyViolation("a field has the wire type \(key & 7)")
            }
        }
    }

    /// `uint32`, `uint64`, `enum`.
    func number(_ field: UInt64) -> UInt64 { numbers[field] ?? 0 }

    /// `bool`.
    func flag(_ field: UInt64) -> Bool { number(field) != 0 }

    /// `bytes`.
    func octets(_ field: UInt64) -> [UInt8] { strings[field].map(Array.init) ?? [] }

    /// `string`.
    func text(_ field: UInt64) -> String { String(decoding: strings[field] ?? [], as: UTF8.self) }
}

extension ArraySlice<UInt8> {
    /// Takes a base-128 number (a varint) from the front.
    fileprivate mutating func takeVarint() throws(ProxyViolation) -> UInt64 {
        guard let value = takeVarintIfWhole() else { throw ProxyViolation("a number is cut short") }
        return try value.get()
    }

    /// The same if more octets may follow: `nil` if the number isn't complete yet, and then nothing is taken.
    mutating func takeVarintIfWhole() -> Result<UInt64, ProxyViolation>? {
        var value: UInt64 = 0
        for (position, octet) in prefix(10).enumerated() {
            value |= UInt64(octet & 0x7F) << UInt64(7 * position)
            if octet < 0x80 {
                removeFirst(position + 1)
                return .success(value)
            }
        }
        return count < 10 ? nil : .failure(ProxyViolation("a number has more than ten octets"))
    }

    /// Takes this many octets from the front.
    fileprivate mutating func take(_ length: UInt64) throws(ProxyViolation) -> ArraySlice<UInt8> {
        guard length <= UInt64(count) else { throw ProxyViolation("a field is cut short") }
        defer { removeFirst(Int(length)) }
        return prefix(Int(length))
    }
}

/// How a client of the proxy violated the protocol; its connection is closed.
struct ProxyViolation: Error {
    /// The violation.
    let cause: String

    init(_ cause: String) { self.cause = cause }
}
