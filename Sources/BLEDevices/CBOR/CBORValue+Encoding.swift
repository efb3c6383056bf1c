extension CBORValue {
    /// The item in its shortest form with definite lengths (RFC 8949, 4.2.1); maps keep the order of their members.
    package var encoded: [UInt8] {
        var octets: [UInt8] = []
        encode(into: &octets)
        return octets
    }

    private func encode(into octets: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.head(0, value, &octets)
        case .negative(let value): Self.head(1, value, &octets)
        case .bytes(let bytes):
            Self.head(2, UInt64(bytes.count), &octets)
            octets += bytes
        case .text(let text):
            Self.head(3, UInt64(text.utf8.count), &octets)
            octets += text.utf8
        case .array(let items):
            Self.head(4, UInt64(items.count), &octets)
            for item in items { item.encode(into: &octets) }
        case .map(let members):
            Self.head(5, UInt64(members.count), &octets)
            for member in members {
                member.key.encode(into: &octets)
                member.value.encode(into: &octets)
            }
        case .tagged(let tag, let item):
            Self.head(6, tag, &octets)
            item.encode(into: &octets)
        case .bool(let value): octets.append(value ? 0xF5 : 0xF4)
        case .null: octets.append(0xF6)
        case .undefined: octets.append(0xF7)
        case .simple(let value): Self.head(7, UInt64(value), &octets)
        case .double(let value):
            octets.append(0xFB)
            Self.number(value.bitPattern, octets: 8, &octets)
        }
    }

    private static func head(_ major: UInt8, _ argument: UInt64, _ octets: inout [UInt8]) {
        let size =
            switch argument {
            case 0..<24: 0
            case 0...0xFF: 1
            case 0...0xFFFF: 2
            case 0...0xFFFF_FFFF: 4
            default: 8
            }
        guard size > 0 else { return octets.append(major << 5 | UInt8(truncatingIfNeeded: argument)) }
        octets.append(major << 5 | UInt8(24 + size.trailingZeroBitCount))
        number(argument, octets: size, &octets)
    }

    private static func number(_ value: UInt64, octets count: Int, _ octets: inout [UInt8]) {
        for index in (0..<count).reversed() { octets.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }
}
