/// A JSON value whose objects keep the order of their keys.
enum JSON: Sendable {
    case string(String)
    case number(Int)
    case decimal(Double)
    case bool(Bool)
    case null
    case array([JSON])
    case object([(String, JSON)])

    /// An object of the members that have a value.
    static func object(_ members: (String, JSON?)...) -> JSON {
        .object(members.compactMap { key, value in value.map { (key, $0) } })
    }

    /// A string of octets in lower-case hexadecimal.
    static func hex(_ octets: some Collection<UInt8>) -> JSON { .string(octets.hexText) }

    /// A string, a number or a Boolean; `nil` if there is none.
    static func string(_ value: String?) -> JSON? { value.map { .string($0) } }
    static func number(_ value: (some BinaryInteger)?) -> JSON? { value.map { .number(Int($0)) } }
}

extension JSON: CustomStringConvertible {
    /// The value on one line, as RFC 8259 defines it.
    var description: String {
        switch self {
        case .string(let text): "\"\(Self.escaped(text))\""
        case .number(let number): "\(number)"
        case .decimal(let number): number.isFinite ? "\(number)" : "0"
        case .bool(let value): "\(value)"
        case .null: "null"
        case .array(let values): "[\(values.map(\.description).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\"\(Self.escaped($0))\":\($1)" }.joined(separator: ","))}"
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            // Escape what a terminal would interpret; to a program, the string is the same.
            case _ where !scalar.isPrintable:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
