import BLEStreams
import ConsoleOutput

/// How a value's octets are shown to a person, and what a program gets besides them.
struct ValueStyle: Sendable {
    private enum Form {
        /// Hexadecimal, followed by the text or the meaning.
        case readable
        /// Hexadecimal only.
        case raw
        /// Text only.
        case text
    }

    static let options = [
        Option("raw", help: "show hexadecimal digits alone, without what they mean"),
        Option("text", help: "show values as text alone, where they are UTF-8"),
    ]

    private let form: Form
    /// Whether the digits are to be copied, however many they are.
    var isRaw: Bool { if case .raw = form { true } else { false } }
    /// The type of the values, if known.
    let uuid: BluetoothUUID?

    /// Reads `--raw` and `--text`.
    init(_ arguments: Arguments, of name: CharacteristicName) throws(UsageError) {
        switch (arguments.has("raw"), arguments.has("text")) {
        case (true, true): throw UsageError("--raw and --text exclude each other")
        case (true, false): form = .raw
        case (false, true):
            guard !arguments.has("json") else {
                throw UsageError(
                    "--text and --json exclude each other: with --json a value that is UTF-8 is also shown as text, "
                        + "so omit --text"
                )
            }
            form = .text
        case (false, false): form = .readable
        }
        uuid = name.descriptor ?? name.reference.uuid
    }

    /// The value for a person.
    func text(of value: CharacteristicValue) -> String {
        switch form {
        case .readable: value.bytes.isEmpty ? "(empty)" : value.bytes.readableText(of: uuid)
        case .raw: value.bytes.hexText
        case .text: value.text.map(\.harmless) ?? value.bytes.hexText
        }
    }

    /// The value for a program: `value`, `text` if it is UTF-8, `time`, `decoded` if it is known and wanted.
    func json(of value: CharacteristicValue) -> JSON {
        if case .raw = form { return value.json() }
        return value.json(of: uuid)
    }

    /// The meaning of the value; `nil` if unknown.
    func decoded(_ value: CharacteristicValue) -> DecodedValue? {
        uuid.flatMap { Decoders.decode(value.bytes, of: $0) }
    }
}
