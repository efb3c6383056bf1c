extension DecodedValue {
    /// A number, a string, or an object of the fields. A number that JSON can't express is `null`.
    var json: JSONText {
        switch self {
        case .number(let number, _): .plain(number)
        case .word(let word): .string(word)
        case .bool(let truth): .bool(truth)
        case .list(let values): .array(values.map(\.json))
        case .fields(let fields): .object(fields.map { ($0.name, $0.value.json) })
        }
    }

    /// Its numbers, each with the path to it: none for a plain number, `beatsPerMinute` for a field.
    var numbers: [(path: [String], unit: String)] {
        switch self {
        case .number(_, let unit): [([], unit)]
        case .fields(let fields):
            fields.flatMap { field in field.value.numbers.map { ([field.name] + $0.path, $0.unit) } }
        case .word, .bool, .list: []
        }
    }
}
