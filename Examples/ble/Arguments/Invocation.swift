import Glibc

/// What the arguments of `ble` ask for.
enum Invocation {
    case command(any Command, CommonOptions)
    /// The requested text.
    case help(String)
    /// What is wrong with the arguments, and what to do.
    case refused(String)

    /// Parses the arguments. A command may read the files that they name, and does nothing else.
    init(_ words: [String]) {
        var name = "ble"
        do throws(UsageError) {
            let before = try Arguments(parsing: words, options: Option.common + [Option.version], stopsAtWord: true)
            if before.has("version") {
                self = .help("ble \(Version.text)")
                return
            }
            guard let word = before.words.first else {
                self =
                    before.has("help")
                    ? .help(Help.text(for: TerminalSize(of: STDOUT_FILENO)?.columns))
                    : .refused("ble: a command is missing\n\n\(Help.text(for: Log.columns))\n")
                return
            }
            guard let command = commands.first(where: { $0.name == word }) else {
                throw UsageError("there is no command '\(word)'")
            }
            name += " \(word)"
            var arguments = try Arguments(
                parsing: Array(before.words.dropFirst()),
                options: command.options + Option.common
            )
            arguments.add(before)
            if arguments.has("help") {
                self = .help(Help.text(of: command, for: TerminalSize(of: STDOUT_FILENO)?.columns))
            } else {
                let common = try CommonOptions(arguments)
                self = .command(try arguments.make(command), common)
            }
        } catch {
            self = .refused("\(name): \(error.message)\nTry `\(name) --help`.\n")
        }
    }
}
