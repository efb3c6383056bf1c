import ConsoleOutput
import FoundationEssentials

/// The members of one object in a file. An unknown member is an error, so that a misspelt name doesn't silently become
/// a default.
struct Members {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder, known: [String]) throws {
        container = try decoder.container(keyedBy: Key.self)
        guard let other = container.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
        throw refusal(
            of: String(other.stringValue.prefix(40)),
            "this member is unknown; the known ones are \(known.joined(separator: ", "))"
        )
    }

    /// The names of all members.
    var names: [String] { container.allKeys.map(\.stringValue).sorted() }

    /// An optional member.
    subscript<Value: Decodable>(_ name: String) -> Value? {
        get throws { try container.decodeIfPresent(Value.self, forKey: Key(name)) }
    }

    /// An optional member of a named type.
    subscript<Value: Decodable>(_ name: String, as type: Value.Type) -> Value? { get throws { try self[name] } }

    /// A required member.
    func required<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        try container.decode(type, forKey: Key(name))
    }

    /// An optional whole number.
    func number<Number: FixedWidthInteger & Decodable>(
        _ name: String,
        in range: ClosedRange<Number>
    ) throws -> Number? {
        guard let number = try self[name, as: Double.self] else { return nil }
        // Read it as an integer if it is one: a Double is exact only up to 2^53.
        guard number >= 0, number <= 0x1p63, number.rounded() == number, let value: Number = try? self[name],
            range.contains(value)
        else { throw refusal(of: name, "it must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
        return value
    }

    /// What is wrong with a member, and what would be right.
    func refusal(of name: String, _ words: String) -> DecodingError {
        .dataCorruptedError(forKey: Key(name), in: container, debugDescription: words)
    }
}

extension DecodingError {
    /// What is wrong, after its place in the file: `services[0].characteristics[2].uuid: …`.
    var placedText: String {
        switch self {
        case .keyNotFound(let key, let context):
            Self.place(context.codingPath + [key], "it is missing; add it")
        case .typeMismatch(let type, let context):
            Self.place(context.codingPath, "\(Self.words(for: type)) is expected here")
        case .valueNotFound(let type, let context):
            Self.place(context.codingPath, "it is null, but \(Self.words(for: type)) is expected here")
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            "this is not JSON; it must be one object, as `ble info --json` prints it"
        case .dataCorrupted(let context): Self.place(context.codingPath, context.debugDescription)
        @unknown default: "it can't be read"
        }
    }

    private static func place(_ path: [any CodingKey], _ words: String) -> String {
        let place = path.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text + (text.isEmpty ? "" : ".") + key.stringValue.harmless
        }
        return place.isEmpty ? words : "\(place): \(words)"
    }

    private static func words(for type: Any.Type) -> String {
        switch type {
        case is String.Type, is UUIDText.Type: "a string"
        case is Bool.Type: "true or false"
        case is Double.Type, is any FixedWidthInteger.Type: "a number"
        case is [Any].Type: "an array"
        default: "an object"
        }
    }
}
