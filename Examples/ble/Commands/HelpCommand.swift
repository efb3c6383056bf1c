import BLEStreams

/// Explains the command, or one of its subcommands.
struct HelpCommand: Command {
    static let name = "help"
    static let summary = "explain a command; print the manual page, or the schema of what --json prints"
    static let parameters = ["[COMMAND]"]
    static let options = [
        Option("manual", help: "print the manual page, in roff: `ble help --manual | man -l -`"),
        Option("schema", help: "print a JSON Schema: for each command the objects that it prints with --json"),
    ]

    private let text: String

    init(_ arguments: Arguments) throws(UsageError) {
        try arguments.refuseAdapterUse(by: Self.name)
        try arguments.refuseJSON(of: Self.name)
        if arguments.words.count > 1 { throw UsageError("'\(arguments.words[1])' is an extra argument") }
        let wishes = [arguments.has("manual"), arguments.has("schema"), !arguments.words.isEmpty].filter { $0 }
        guard wishes.count < 2 else { throw UsageError("--manual, --schema and COMMAND exclude each other") }
        let columns = Output(isJSON: false).columns
        if arguments.has("manual") {
            text = Manual.text
        } else if arguments.has("schema") {
            text = "\(Schema.document)"
        } else if let word = arguments.words.first {
            guard let command = commands.first(where: { $0.name == word }) else {
                throw UsageError("there is no command '\(word)'; `ble help` lists them")
            }
            text = Help.text(of: command, for: columns)
        } else {
            text = Help.text(for: columns)
        }
    }

    func run(_ options: CommonOptions, _ log: Log) async throws {
        try Output(isJSON: false).write(Array("\(text)\n".utf8))
    }

    /// Does nothing: no adapter is opened.
    func run(in environment: CommandEnvironment) async throws {}
}
