import BLEDevices
import BLEStreams

/// A decoded value: a number, a word, or fields with names.
indirect enum DecodedValue {
    case number(Double, unit: String)
    case word(String)
    case bool(Bool)
    case list([DecodedValue])
    case fields([(name: String, value: DecodedValue)])

    /// Takes apart what a codec of the library returns; the fields are named after the type's properties.
    init(_ value: Any, unit: String = "") {
        switch value {
        case let number as Double: self = .number(number, unit: unit)
        case let number as any BinaryInteger: self = .number(Double(number), unit: unit)
        case let number as MedicalNumber: self = .number(number.value, unit: unit)
        case let time as Duration: self = .number(time / .seconds(1), unit: "s")
        case let text as String: self = .word(text)
        case let truth as Bool: self = .bool(truth)
        case let values as [Any]: self = .list(values.map { DecodedValue($0) })
        case let described as any CustomStringConvertible: self = .word("\(described)")
        default:
            let mirror = Mirror(reflecting: value)
            self = mirror.displayStyle == .struct ? .fields(Self.fields(of: mirror)) : .word("\(value)")
        }
    }

    private static func fields(of mirror: Mirror) -> [(name: String, value: DecodedValue)] {
        mirror.children.compactMap { child in
            guard let name = child.label, !(child.value is ReceptionTime) else { return nil }
            let field = Mirror(reflecting: child.value)
            guard field.displayStyle == .optional else { return (name, DecodedValue(child.value)) }
            return field.children.first.map { (name, DecodedValue($0.value)) }
        }
    }

    /// Its number, or its first one, which a plot shows.
    var firstNumber: Double? {
        switch self {
        case .number(let number, _): number.isFinite ? number : nil
        case .fields(let fields): fields.lazy.compactMap(\.value.firstNumber).first
        case .word, .bool, .list: nil
        }
    }
}

extension DecodedValue {
    /// For a program: a number, a string, or an object of the fields. A number that JSON can't express is `null`.
    var json: JSON {
        switch self {
        case .number(let number, _): number.isFinite ? .plain(number) : .null
        case .word(let word): .string(word)
        case .bool(let truth): .bool(truth)
        case .list(let values): .array(values.map(\.json))
        case .fields(let fields): .object(fields.map { ($0.name, $0.value.json) })
        }
    }

    /// For a person: `21.5 °C`, or `beats per minute 72, has contact yes`.
    var text: String {
        switch self {
        case .number(let number, let unit):
            (number.isFinite ? number.plainText : "unknown") + (unit.isEmpty || !number.isFinite ? "" : " \(unit)")
        case .word(let word): word.harmless
        case .bool(let truth): truth ? "yes" : "no"
        case .list(let values): values.map(\.text).joined(separator: " ")
        case .fields(let fields):
            fields.filter { !$0.value.isEmpty }
                .map { "\($0.name.inWords) \($0.value.isNested ? "(\($0.value.text))" : $0.value.text)" }
                .joined(separator: ", ")
        }
    }

    /// Whether it is text, which is shown beside the octets in any case.
    var isText: Bool { if case .word = self { true } else { false } }

    private var isNested: Bool { if case .fields = self { true } else { false } }

    private var isEmpty: Bool { if case .list(let values) = self { values.isEmpty } else { false } }
}

extension JSON {
    /// A number, without a fraction if it is whole.
    static func plain(_ number: Double) -> JSON {
        Int(exactly: number).map { .number($0) } ?? .decimal(number)
    }
}

extension Double {
    /// A number for people, rounded to a millionth: `72`, `21.5`.
    var plainText: String {
        if let whole = Int(exactly: self) { return "\(whole)" }
        let rounded = (self * 1_000_000).rounded() / 1_000_000
        return Int(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }
}

extension String {
    /// The name of a property as words: `beatsPerMinute` as `beats per minute`, `isRunning` as `running`.
    fileprivate var inWords: String {
        let words = map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
        return ["is ", "has "].reduce(words) { $0.hasPrefix($1) ? String($0.dropFirst($1.count)) : $0 }
    }
}
