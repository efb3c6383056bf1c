import ConsoleOutput

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
        var octets: [UInt8] = []
        write(to: &octets)
        return String(decoding: octets, as: UTF8.self)
    }

    /// Appends the same text, as UTF-8. A line for each value makes this the command's busiest code.
    func write(to octets: inout [UInt8]) {
        switch self {
        case .string(let text): Self.write(text, to: &octets)
        case .number(let number): octets.append(contentsOf: "\(number)".utf8)
        case .decimal(let number): octets.append(contentsOf: (number.isFinite ? "\(number)" : "0").utf8)
        case .bool(let value): octets.append(contentsOf: (value ? "true" : "false").utf8)
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
                Self.write(member.0, to: &octets)
                octets.append(UInt8(ascii: ":"))
                member.1.write(to: &octets)
            }
            octets.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to octets: inout [UInt8]) {
        octets.append(UInt8(ascii: "\""))
        var text = text
        let isDone = text.withUTF8 { units in
            // Nearly all text: nothing to escape.
            if units.allSatisfy(isPlain) {
                octets.append(contentsOf: units)
                return true
            }
            guard units.allSatisfy({ $0 < 0x80 }) else { return false }
            for unit in units { write(ascii: unit, to: &octets) }
            return true
        }
        if !isDone {
            for scalar in text.unicodeScalars { write(scalar, to: &octets) }
        }
        octets.append(UInt8(ascii: "\""))
    }

    /// Whether it stands for itself in a JSON string.
    private static func isPlain(_ unit: UInt8) -> Bool {
        (0x20..<0x7F).contains(unit) && unit != UInt8(ascii: "\"") && unit != UInt8(ascii: "\\")
    }

    private static func write(ascii unit: UInt8, to octets: inout [UInt8]) {
        switch unit {
        case UInt8(ascii: "\""): octets.append(contentsOf: "\\\"".utf8)
        case UInt8(ascii: "\\"): octets.append(contentsOf: "\\\\".utf8)
        case UInt8(ascii: "\n"): octets.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\t"): octets.append(contentsOf: "\\t".utf8)
        case UInt8(ascii: "\r"): octets.append(contentsOf: "\\r".utf8)
        case 0..<0x20, 0x7F: escape(UInt16(unit), to: &octets)
        default: octets.append(unit)
        }
    }

    private static func write(_ scalar: Unicode.Scalar, to octets: inout [UInt8]) {
        if scalar.isASCII {
            write(ascii: UInt8(scalar.value), to: &octets)
        } else if scalar.isPrintable {
            octets.append(contentsOf: String(scalar).utf8)
        } else {
            // What a terminal would interpret; to a program, the string is the same.
            for unit in String(scalar).utf16 { escape(unit, to: &octets) }
        }
    }

    private static func escape(_ unit: UInt16, to octets: inout [UInt8]) {
        octets.append(contentsOf: "\\u".utf8)
        octets.append(contentsOf: [UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)].hexText.utf8)
    }
}
