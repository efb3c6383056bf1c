/// Why octets are not a data item. Source: RFC 8949, appendix F.
package enum CBORError: Error, Hashable {
    /// The octets end within the item.
    case truncated
    /// Octets follow the item.
    case trailing(Int)
    /// An initial octet that is undefined, or not allowed here.
    case malformed(UInt8)
    /// A text that is not UTF-8.
    case invalidText
    /// Items are nested too deeply.
    case tooDeep
}

extension CBORValue {
    /// How deeply items may be nested.
    package static let maximumDepth = 32

    /// Decodes one item, which must take up all octets.
    package init(decoding octets: some Collection<UInt8>) throws(CBORError) {
        var reader = CBORReader(Array(octets)[...])
        self = try reader.item(depth: 0)
        if !reader.octets.isEmpty { throw .trailing(reader.octets.count) }
    }
}

/// Decodes items. Allocations are bounded by the octets present, whatever lengths they claim.
private struct CBORReader {
    var octets: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>) { self.octets = octets }

    /// The next item; within an item of indefinite length, `nil` at its end.
    private mutating func part(depth: Int) throws(CBORError) -> CBORValue? {
        if octets.first == 0xFF {
            octets.removeFirst()
            return nil
        }
        return try item(depth: depth)
    }

    mutating func item(depth: Int) throws(CBORError) -> CBORValue {
        guard depth <= CBORValue.maximumDepth else { throw .tooDeep }
        guard let initial = octets.popFirst() else { throw .truncated }
        let (major, information) = (initial >> 5, initial & 31)
        if major == 7 { return try simple(initial, information) }
        if information == 31 { return try indefinite(initial, major, depth) }
        let argument = try self.argument(initial, information)
        switch major {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(Array(try string(argument)))
        case 3: return .text(try Self.text(try string(argument)))
        case 4:
            var items: [CBORValue] = []
            // Each item takes at least one octet.
            guard argument <= UInt64(octets.count) else { throw .truncated }
            for _ in 0..<argument { items.append(try item(depth: depth + 1)) }
            return .array(items)
        case 5:
            var members: [CBORValue.Member] = []
            guard argument <= UInt64(octets.count) / 2 else { throw .truncated }
            for _ in 0..<argument {
                let key = try item(depth: depth + 1)
                members.append(CBORValue.Member(key, try item(depth: depth + 1)))
            }
            return .map(members)
        default: return .tagged(argument, try item(depth: depth + 1))
        }
    }

    private mutating func argument(_ initial: UInt8, _ information: UInt8) throws(CBORError) -> UInt64 {
        guard information >= 24 else { return UInt64(information) }
        guard information <= 27 else { throw .malformed(initial) }
        return try number(1 << (information - 24))
    }

    private mutating func number(_ count: Int) throws(CBORError) -> UInt64 {
        guard octets.count >= count else { throw .truncated }
        defer { octets.removeFirst(count) }
        return octets.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func string(_ length: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard length <= UInt64(octets.count) else { throw .truncated }
        defer { octets.removeFirst(Int(length)) }
        return octets.prefix(Int(length))
    }

    private static func text(_ octets: ArraySlice<UInt8>) throws(CBORError) -> String {
        guard let text = String(validating: octets, as: UTF8.self) else { throw .invalidText }
        return text
    }

    private mutating func indefinite(_ initial: UInt8, _ major: UInt8, _ depth: Int) throws(CBORError) -> CBORValue {
        switch major {
        case 2, 3:
            var whole: [UInt8] = []
            var text = ""
            while true {
                guard let first = octets.first else { throw .truncated }
                // Parts are strings of the same kind with a definite length.
                guard first == 0xFF || (first >> 5 == major && first & 31 != 31) else { throw .malformed(first) }
                switch try part(depth: depth + 1) {
                case nil: return major == 2 ? .bytes(whole) : .text(text)
                case .bytes(let bytes)?: whole += bytes
                case .text(let part)?: text += part
                default: throw .malformed(first)
                }
            }
        case 4:
            var items: [CBORValue] = []
            while let item = try part(depth: depth + 1) { items.append(item) }
            return .array(items)
        case 5:
            var members: [CBORValue.Member] = []
            while let key = try part(depth: depth + 1) {
                members.append(CBORValue.Member(key, try item(depth: depth + 1)))
            }
            return .map(members)
        default: throw .malformed(initial)
        }
    }

    private mutating func simple(_ initial: UInt8, _ information: UInt8) throws(CBORError) -> CBORValue {
        switch information {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        case 23: return .undefined
        case 0..<20: return .simple(information)
        case 24:
            let value = UInt8(truncatingIfNeeded: try number(1))
            // Values below 32 must not use the two-octet form.
            guard value >= 32 else { throw .malformed(initial) }
            return .simple(value)
        case 25: return .double(Self.half(UInt16(truncatingIfNeeded: try number(2))))
        case 26: return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try number(4)))))
        case 27: return .double(Double(bitPattern: try number(8)))
        default: throw .malformed(initial)
        }
    }

    /// A number of 16 bits (RFC 8949, appendix D).
    private static func half(_ bits: UInt16) -> Double {
        let (exponent, fraction) = (Int(bits >> 10 & 31), Double(bits & 0x3FF))
        let magnitude: Double =
            switch exponent {
            case 0: fraction * 0x1p-24
            case 31: fraction == 0 ? .infinity : .nan
            default: (fraction + 1024) * Double(sign: .plus, exponent: exponent - 25, significand: 1)
            }
        return bits & 0x8000 == 0 ? magnitude : -magnitude
    }
}
