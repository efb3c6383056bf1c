import BLEDevices
import BLEStreams
import ConsoleOutput

extension DecodedValue {
    /// Its number, or its first one, which a plot shows.
    var firstNumber: Double? {
        switch self {
        case .number(let number, _): number.isFinite ? number : nil
        case .fields(let fields): fields.lazy.compactMap(\.value.firstNumber).first
        case .word, .bool, .list: nil
        }
    }

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
            number.plainText + (unit.isEmpty || !number.isFinite ? "" : " \(unit)")
        case .word(let word): word.isEmpty ? "none" : word.harmless
        case .bool(let truth): truth ? "yes" : "no"
        case .list(let values): values.map(\.text).joined(separator: " ")
        case .fields(let fields):
            fields.filter { !$0.value.isEmpty }
                .map { "\($0.name.inWords) \($0.value.isNested ? "(\($0.value.text))" : $0.value.text)" }
                .joined(separator: ", ")
        }
    }

    /// Whether it is the text that the octets are, which is shown beside them in any case.
    func isText(of octets: some Collection<UInt8>) -> Bool {
        // No text is empty: these are bits of which none is set.
        guard case .word(let word) = self, !word.isEmpty else { return false }
        return octets.utf8Text.map { $0.hasPrefix(word) && $0.dropFirst(word.count).allSatisfy { $0 == "\0" } } ?? false
    }

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
    /// A number for people, rounded to a millionth: `72`, `21.5`. A medical device says of a value beyond its range on
    /// which side it is: that is known.
    var plainText: String {
        if !isFinite { return isNaN ? "unknown" : self > 0 ? "above the range" : "below the range" }
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
