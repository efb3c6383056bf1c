@preconcurrency import CGetopt
import Glibc
import Synchronization

/// The arguments of a command: options with their values, and words.
struct Arguments {
    /// The words that aren't options, in order.
    private(set) var words: [String] = []
    private var values: [String: [String]] = [:]
    /// Whether an option was given whose value is a secret: another word may be a part of it, behind a space.
    private var mayContainSecret = false

    /// Separates options from other words by the rules of the C library: options may stand anywhere, `--count=3` and
    /// `--count 3` are the same, and nothing after `--` is an option.
    ///
    /// - Parameter stopsAtWord: whether the first word that isn't an option, and everything after it, is left as it is.
    init(parsing list: [String], options: [Option], stopsAtWord: Bool = false) throws(UsageError) {
        self = try Self.turn.withLock { _ throws(UsageError) in
            try Self(sorting: list, options: options, stopsAtWord: stopsAtWord)
        }
    }

    /// The C library keeps its position in global variables.
    private static let turn = Mutex(())

    private init(sorting list: [String], options: [Option], stopsAtWord: Bool) throws(UsageError) {
        var strings = (["ble"] + list).map { strdup($0) }
        let names = options.map { strdup($0.name) }
        defer { for string in strings + names { free(string) } }
        var table = zip(options, names).enumerated().map { index, entry in
            option(
                name: UnsafePointer(entry.1),
                has_arg: entry.0.value == nil ? no_argument : required_argument,
                flag: nil,
                val: Self.firstLong + Int32(index)
            )
        }
        table.append(option())
        strings.append(nil)
        let letters = options.compactMap(\.letter).map(String.init).joined()
        let count = Int32(list.count + 1)

        opterr = 0
        optind = 0
        while true {
            let found = getopt_long(count, &strings, (stopsAtWord ? "+:" : ":") + letters, table, nil)
            guard found != -1 else { break }
            let culprit = strings[Int(optind) - 1].map { String(cString: $0) } ?? ""
            guard found != Self.unknown, found != Self.valueMissing else {
                let refusal = Self.refusal(of: culprit, found == Self.valueMissing, options, optopt)
                throw mayContainSecret ? refusal.discreet : refusal
            }
            let option =
                found >= Self.firstLong
                ? options[Int(found - Self.firstLong)]
                : options.first { $0.letter.map { $0.asciiValue.map(Int32.init) == found } ?? false }
            guard let option else { continue }
            if option.isSecret { mayContainSecret = true }
            values[option.name, default: []].append(optarg.map { String(cString: $0) } ?? "")
        }
        words = strings[Int(optind)..<Int(count)].compactMap { $0.map { String(cString: $0) } }
    }

    /// Above the codes of all letters.
    private static let firstLong: Int32 = 256
    private static let unknown = Int32(UInt8(ascii: "?"))
    private static let valueMissing = Int32(UInt8(ascii: ":"))

    /// What is wrong with an option. `code` is what the C library returned: a letter, a number of ours, or 0.
    ///
    /// It doesn't repeat what stands behind `=`: with a mistyped name, nobody can tell whether that is a passkey or
    /// key.
    private static func refusal(
        of word: String,
        _ isValueMissing: Bool,
        _ options: [Option],
        _ code: Int32
    ) -> UsageError {
        let culprit = String(word.prefix { $0 != "=" })
        let known = options.indices.contains(Int(code - firstLong)) ? options[Int(code - firstLong)] : nil
        if isValueMissing { return UsageError("\(culprit) needs \(known?.value ?? "a value") after it") }
        if let known { return UsageError("--\(known.name) takes no value: write it without '='") }
        if code > 0, let letter = UnicodeScalar(UInt32(code)) {
            return unknownOption("-\(letter)", isOption: letter.properties.isAlphabetic)
        }
        let alike = options.filter { culprit.hasPrefix("--") && "--\($0.name)".hasPrefix(culprit) }
        guard !alike.isEmpty else {
            return unknownOption(
                culprit,
                isOption: culprit.unicodeScalars.allSatisfy { $0 == "-" || $0.properties.isAlphabetic }
            )
        }
        return UsageError("'\(culprit)' is ambiguous: " + alike.map { "--\($0.name)" }.joined(separator: " or "))
    }

    /// Refuses an option that does not exist.
    ///
    /// - Parameter isOption: whether the word can't be anything but a mistyped option: none has digits.
    private static func unknownOption(_ word: String, isOption: Bool) -> UsageError {
        UsageError(
            "there is no option '\(word)'",
            discreetly: isOption
                ? nil : "a word that begins with '-' is no option, and is not shown, as it may be a part of a secret"
        )
    }

    /// The command with these arguments. Where one of them is a secret, an error repeats no word.
    func make(_ command: any Command.Type) throws(UsageError) -> any Command {
        do throws(UsageError) {
            return try command.init(self)
        } catch {
            throw mayContainSecret ? error.discreet : error
        }
    }

    /// Adds what was given before the subcommand to what was given after it.
    mutating func add(_ earlier: Arguments) {
        values.merge(earlier.values) { later, earlier in earlier + later }
    }

    // MARK: - Reading

    /// Whether an option was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// All values of an option that may be repeated.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value of an option; the last one if it was given more than once.
    func last(_ name: String) -> String? { values[name]?.last }
}
