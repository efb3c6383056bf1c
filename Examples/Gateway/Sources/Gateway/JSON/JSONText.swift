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

    /// The text as octets.
    var octets: [UInt8] { Array(text.utf8) }

    /// The value on one line, as RFC 8259 defines it.
    var text: String {
        switch self {
        case .string(let text): Self.quoted(text)
        case .number(let number): "\(number)"
        case .decimal(let number): number.isFinite ? "\(number)" : "null"
        case .bool(let truth): "\(truth)"
        case .null: "null"
        case .array(let values): "[\(values.map(\.text).joined(separator: ","))]"
        case .object(let members): "{\(members.map { "\(Self.quoted($0)):\($1.text)" }.joined(separator: ","))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Sequence<UInt8> {
    /// The octets in lower-case hexadecimal.
    var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
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
