/// A JSON value to write, whose objects keep the order of their members.
enum JSONText: Sendable, ExpressibleByStringLiteral {
    case string(String)
    case number(Int)
    case decimal(Double)
    case bool(Bool)
    case null
    case array([JSONText])
    case object([(String, JSONText)])

    init(stringLiteral text: String) { self = .string(text) }

    /// An object of the members that have a value.
    static func object(_ members: (String, JSONText?)...) -> JSONText {
        .object(members.compactMap { key, value in value.map { (key, $0) } })
    }

    /// A string; `nil` if there is none.
    static func text(_ value: String?) -> JSONText? { value.map { .string($0) } }

    /// Octets in lower-case hexadecimal.
    static func hex(_ octets: some Sequence<UInt8>) -> JSONText { .string(octets.hex) }

    /// A number, without a fraction if it is whole; `null` if JSON can't express it.
    static func plain(_ number: Double) -> JSONText {
        Int(exactly: number).map { .number($0) } ?? (number.isFinite ? .decimal(number) : .null)
    }

    /// The value on one line, as RFC 8259 defines it.
    var text: String { String(decoding: octets, as: UTF8.self) }

    /// The text as octets.
    var octets: [UInt8] {
        var octets: [UInt8] = []
        write(to: &octets)
        return octets
    }

    /// Appends the text. Each value that is published passes here.
    private func write(to octets: inout [UInt8]) {
        switch self {
        case .string(let text): Self.quote(text, to: &octets)
        case .number(let number): octets.append(contentsOf: "\(number)".utf8)
        case .decimal(let number): octets.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
        case .bool(let truth): octets.append(contentsOf: (truth ? "true" : "false").utf8)
        case .null: octets.append(contentsOf: "null".utf8)
        case .array(let values):
            octets.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { octets.append(UInt8(ascii: ",")) }
                value.write(to: &octets)
            }
            octets.append(UInt8(ascii: "]"))
        case .object(let members):
            octets.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { octets.append(UInt8(ascii: ",")) }
                Self.quote(member.0, to: &octets)
                octets.append(UInt8(ascii: ":"))
                member.1.write(to: &octets)
            }
            octets.append(UInt8(ascii: "}"))
        }
    }

    /// Escapes octets of ASCII only: those of other characters are all above it.
    private static func quote(_ text: String, to octets: inout [UInt8]) {
        octets.append(UInt8(ascii: "\""))
        for unit in text.utf8 {
            switch unit {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                octets.append(UInt8(ascii: "\\"))
                octets.append(unit)
            case 0..<0x20, 0x7F:
                octets.append(contentsOf: (unit < 0x10 ? "\\u000" : "\\u00").utf8)
                octets.append(contentsOf: String(unit, radix: 16).utf8)
            default: octets.append(unit)
            }
        }
        octets.append(UInt8(ascii: "\""))
    }
}

extension Sequence<UInt8> {
    /// The octets in lower-case hexadecimal.
    var hex: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * underestimatedCount)
        for octet in self {
            text.append(digit(octet >> 4))
            text.append(digit(octet & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }
}

private func digit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
}

/// Octets from hexadecimal digits; `nil` if they are none.
func octets(hex text: String) -> [UInt8]? {
    let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count.isMultiple(of: 2) else { return nil }
    var octets: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = digits[index], let low = digits[index + 1] else { return nil }
        octets.append(UInt8(high << 4 | low))
    }
    return octets
}
