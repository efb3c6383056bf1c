/// The fields of an object of the configuration. Whatever is not asked for is refused at the end, so a misspelt field
/// is not ignored.
struct ConfigurationFields: ~Copyable {
    private let path: String
    private var members: [String: JSONValue]
    private var known: [String] = []

    init(_ value: JSONValue, _ path: String) throws(ConfigurationError) {
        guard case .object(let members) = value else {
            throw ConfigurationError(field: path, cause: "it is \(value.kind)", remedy: "Write an object: { … }.")
        }
        self.path = path
        self.members = members
    }

    /// The name of a field, with where it is.
    func name(_ field: String) -> String { path.isEmpty ? field : "\(path).\(field)" }

    private mutating func take(_ field: String) -> JSONValue? {
        known.append(field)
        let value = members.removeValue(forKey: field)
        return value == .null ? nil : value
    }

    private func wrong(_ field: String, _ value: JSONValue, _ remedy: String) -> ConfigurationError {
        ConfigurationError(field: name(field), cause: "it is \(value.kind)", remedy: remedy)
    }

    func missing(_ field: String, _ remedy: String) -> ConfigurationError {
        ConfigurationError(field: name(field), cause: "it is missing\(misspelt(field))", remedy: remedy)
    }

    /// Words about a field that may be meant for one of these: `, but there is 'adress'`. Empty if there is none.
    func misspelt(_ fields: String...) -> String {
        let known = known
        let alike = members.keys.filter { key in
            !known.contains(key) && fields.contains { key.lowercased().isAlmost($0.lowercased()) }
        }
        return alike.min().map { ", but there is '\($0)'" } ?? ""
    }

    mutating func optionalString(
        _ field: String,
        _ remedy: String = "Write a string, or leave the field out."
    ) throws(ConfigurationError) -> String? {
        switch take(field) {
        case nil: return nil
        case .string(let text) where !text.isEmpty: return text
        case .string: throw ConfigurationError(field: name(field), cause: "it is empty", remedy: remedy)
        case .some(let value): throw wrong(field, value, remedy)
        }
    }

    mutating func string(_ field: String, _ remedy: String) throws(ConfigurationError) -> String {
        guard let text = try optionalString(field, remedy) else { throw missing(field, remedy) }
        return text
    }

    mutating func number(
        _ field: String,
        in range: ClosedRange<Double>,
        default standard: Double
    ) throws(ConfigurationError) -> Double {
        let remedy =
            "Write a number from \(JSONText.plain(range.lowerBound).text) to \(JSONText.plain(range.upperBound).text)."
        guard let value = take(field) else { return standard }
        guard let number = value.number else { throw wrong(field, value, remedy) }
        guard range.contains(number) else {
            throw ConfigurationError(field: name(field), cause: "it is \(JSONText.plain(number).text)", remedy: remedy)
        }
        return number
    }

    mutating func whole(
        _ field: String,
        in range: ClosedRange<Int>,
        default standard: Int
    ) throws(ConfigurationError) -> Int {
        let limits = Double(range.lowerBound)...Double(range.upperBound)
        let number = try number(field, in: limits, default: Double(standard))
        guard let whole = Int(exactly: number) else {
            throw ConfigurationError(field: name(field), cause: "it is \(number)", remedy: "Write a whole number.")
        }
        return whole
    }

    mutating func bool(_ field: String, default standard: Bool) throws(ConfigurationError) -> Bool {
        switch take(field) {
        case nil: return standard
        case .bool(let truth): return truth
        case .some(let value): throw wrong(field, value, "Write true or false.")
        }
    }

    mutating func strings(_ field: String, _ remedy: String) throws(ConfigurationError) -> [String] {
        var texts: [String] = []
        for (index, value) in try list(field, remedy).enumerated() {
            guard case .string(let text) = value, !text.isEmpty else {
                throw wrong("\(field)[\(index)]", value, remedy)
            }
            texts.append(text)
        }
        return texts
    }

    /// The strings of a list, none of which may be there twice.
    mutating func differentStrings(_ field: String, _ remedy: String) throws(ConfigurationError) -> [String] {
        let texts = try strings(field, remedy)
        for (index, text) in texts.enumerated() where texts[..<index].contains(text) {
            throw ConfigurationError(
                field: name("\(field)[\(index)]"),
                cause: "'\(text)' is given twice",
                remedy: "Write it once."
            )
        }
        return texts
    }

    /// The values of a list; none if there is no list.
    mutating func list(_ field: String, _ remedy: String) throws(ConfigurationError) -> [JSONValue] {
        switch take(field) {
        case nil: return []
        case .array(let values) where values.count <= Configuration.listLimit: return values
        case .array(let values):
            throw ConfigurationError(
                field: name(field),
                cause: "it has \(values.count) entries",
                remedy: "Write at most \(Configuration.listLimit)."
            )
        case .some(let value): throw wrong(field, value, remedy)
        }
    }

    mutating func object<Output>(
        _ field: String,
        _ read: (inout ConfigurationFields) throws(ConfigurationError) -> Output
    ) throws(ConfigurationError) -> Output? {
        guard let value = take(field) else { return nil }
        return try Self.read(value, name(field), read)
    }

    mutating func objects<Output>(
        _ field: String,
        _ read: (inout ConfigurationFields) throws(ConfigurationError) -> Output
    ) throws(ConfigurationError) -> [Output] {
        var outputs: [Output] = []
        for (index, value) in try list(field, "Write a list of objects.").enumerated() {
            outputs.append(try Self.read(value, "\(name(field))[\(index)]", read))
        }
        return outputs
    }

    static func read<Output>(
        _ value: JSONValue,
        _ path: String,
        _ read: (inout ConfigurationFields) throws(ConfigurationError) -> Output
    ) throws(ConfigurationError) -> Output {
        var fields = try ConfigurationFields(value, path)
        let output = try read(&fields)
        guard let stranger = fields.members.keys.min() else { return output }
        throw ConfigurationError(
            field: fields.name(stranger),
            cause: "there is no such field",
            remedy: "The fields are: \(fields.known.joined(separator: ", "))."
        )
    }
}

extension String {
    /// Whether one wrong, missing, additional or moved letter makes the difference, or none.
    fileprivate func isAlmost(_ other: String) -> Bool {
        let (mine, others) = (Array(utf8), Array(other.utf8))
        guard abs(mine.count - others.count) < 2 else { return false }
        let start = zip(mine, others).prefix { $0 == $1 }.count
        let (tail, otherTail) = (mine[start...], others[start...])
        if tail.count != otherTail.count {
            let (longer, shorter) = tail.count > otherTail.count ? (tail, otherTail) : (otherTail, tail)
            return longer.dropFirst().elementsEqual(shorter)
        }
        if tail.dropFirst().elementsEqual(otherTail.dropFirst()) { return true }
        return tail.prefix(2).elementsEqual(otherTail.prefix(2).reversed())
            && tail.dropFirst(2).elementsEqual(otherTail.dropFirst(2))
    }
}
