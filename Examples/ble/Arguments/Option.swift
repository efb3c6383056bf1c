/// An option of the command: its form, and its line in the help.
struct Option: Sendable {
    /// The name after the two dashes.
    let name: String

    /// The letter after one dash, if there is one.
    let letter: Character?

    /// The name of the value in the help; `nil`: the option takes no value.
    let value: String?

    /// What it does, in a few words.
    let help: String

    /// Whether the value is a secret, of which no error may repeat even a part.
    let isSecret: Bool

    /// Describes an option.
    init(_ name: String, letter: Character? = nil, value: String? = nil, help: String, isSecret: Bool = false) {
        self.name = name
        self.letter = letter
        self.value = value
        self.help = help
        self.isSecret = isSecret
    }
}

extension Option {
    /// The options of every subcommand.
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

    /// Only valid before a subcommand.
    static let version = Option("version", help: "show the version")

    /// Ignores what is remembered about a device.
    static let fresh = Option("fresh", help: "discover the services again instead of using remembered ones")

    /// Requirements on the link.
    static let parameters = Option(
        "parameters",
        value: "WHAT",
        help: "the connection parameters: fast, balanced (default) or lowPower"
    )

    /// The time limit of whatever ends by itself.
    static let deadline = Option("timeout", value: "S", help: "give up after S seconds")
}

/// The command line makes no sense; exit status 2.
struct UsageError: Error {
    /// What is wrong; it names the offending argument.
    let message: String

    /// The same without the words of the command line, for those that may be a part of a secret.
    let discreetMessage: String

    /// Whether a signal has interrupted the reading of a file, and nothing is wrong with the arguments.
    let isInterruption: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - discreetMessage: the message without the word that it repeats, if it repeats one that is no option's value.
    ///   - isInterruption: whether a signal has interrupted the reading of a file.
    init(_ message: String, discreetly discreetMessage: String? = nil, isInterruption: Bool = false) {
        self.message = message
        self.discreetMessage = discreetMessage ?? message
        self.isInterruption = isInterruption
    }

    /// The same without the words of the command line.
    var discreet: UsageError { UsageError(discreetMessage, isInterruption: isInterruption) }
}
