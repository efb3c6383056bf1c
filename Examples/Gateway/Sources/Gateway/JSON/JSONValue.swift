import Foundation

/// A JSON value that was read.
enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A whole number, exactly.
    case integer(Int)
    /// Any other number.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The kind, in words.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// The number that it is, to the precision of a Double.
    var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The most lists and objects in one another: the time that Foundation's decoder takes grows with the cube.
    static let deepest = 32

    /// The octets have more lists and objects in one another than ``deepest``.
    struct TooDeep: Error, CustomStringConvertible {
        var description: String { "it is nested more than \(JSONValue.deepest) deep" }
    }

    /// Reads octets.
    ///
    /// - Throws: ``TooDeep``, or an error of the decoder.
    static func reading(_ octets: [UInt8]) throws -> JSONValue {
        guard depth(of: octets) <= deepest else { throw TooDeep() }
        return try JSONDecoder().decode(JSONValue.self, from: Data(octets))
    }

    /// How many lists and objects are open at once at most.
    private static func depth(of octets: [UInt8]) -> Int {
        var (depth, most, isInString, isEscaped) = (0, 0, false, false)
        for octet in octets {
            switch octet {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                most = max(most, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return most
    }
}

extension JSONValue: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let truth = try? value.decode(Bool.self) {
            self = .bool(truth)
        } else if let number = try? value.decode(Int.self) {
            self = .integer(number)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let values = try? value.decode([JSONValue].self) {
            self = .array(values)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }
}
