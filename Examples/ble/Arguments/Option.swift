/// One option of the command: how it is written, and what the help says about it.
struct Option: Sendable {
    /// The name behind the two dashes.
    let name: String

    /// The letter behind one dash, where there is one.
    let letter: Character?

    /// What the value is called in the help; `nil`: the option takes none.
    let value: String?

    /// What it does, in a few words.
    let help: String

    /// Describes an option.
    init(_ name: String, letter: Character? = nil, value: String? = nil, help: String) {
        self.name = name
        self.letter = letter
        self.value = value
        self.help = help
    }
}

extension Option {
    /// What every subcommand takes.
    static let common = [
        Option("adapter", value: "hciN", help: "the adapter to use, or all; default: the first that is switched on"),
        Option("simulated", help: "use the demonstration devices of a simulated radio, without an adapter"),
        Option(
            "simulation",
            value: "FOLDER",
            help: "as --simulated, with bonds and written values that last from command to command in FOLDER"
        ),
        Option("json", help: "print one JSON object per line"),
        Option("capture", value: "FILE", help: "record ATT traffic and advertisements for btmon and Wireshark"),
        Option(
            "recover",
            value: "S",
            help: "restart a scan that receives nothing for S seconds; then power-cycle the adapter; then reset it"
        ),
        Option("verbose", letter: "v", help: "report connection events on stderr"),
        Option("help", letter: "h", help: "show this help"),
    ]

    /// Stands before a subcommand only.
    static let version = Option("version", help: "show the version")

    /// What is remembered of a device is not to be used.
    static let fresh = Option("fresh", help: "discover the services again instead of using remembered ones")

    /// What the link is to be like.
    static let parameters = Option(
        "parameters",
        value: "WHAT",
        help: "the connection parameters: fast, balanced (default) or lowPower"
    )

    /// The deadline of whatever ends by itself.
    static let deadline = Option("timeout", value: "S", help: "give up after S seconds")
}

/// The command was called in a way that makes no sense; exit status 2.
struct UsageError: Error {
    /// What is wrong, in words that name the culprit.
    let message: String

    /// Makes an error.
    init(_ message: String) { self.message = message }
}
