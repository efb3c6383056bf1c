import BLEStreams
import Glibc
import Interruption

/// Runs many commands over one link.
struct Shell: Command {
    static let name = "shell"
    static let summary = "keep one link to a device, and run many commands over it"
    static let parameters = ["ADDRESS"]
    static let options = [Option.fresh, Option.parameters, Option.deadline] + SecurityOptions.options
    static let notes = """
        Each line is a command as on the command line, without `ble` and ADDRESS: `read 2A19`, `notify 2A37 --count 3`,
        `info --json`; 'single' and "double" quotes keep spaces together. `help` lists the commands, `exit` or Ctrl-D
        ends the shell, and Ctrl-C ends the command that runs. SIGTERM and a terminal that closes end the shell, and no
        more lines are run. At a terminal, lines are edited with libedit or libreadline, where one of them is installed:
        arrow keys recall former lines, and Tab completes commands, options and UUIDs. Lines are not kept after the end.
        When the lines come from a pipe or a file, the exit status is 130 if Ctrl-C ended a command, otherwise 1 if one
        failed. --timeout applies to the connection. --passkey, --oob, --just-works and --claim also apply to each
        command that has these options, unless it is given one of them itself.
        """

    private let peripheral: PeripheralName
    private let limit: Duration?
    private let linkParameters: ConnectionParameters?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(arguments.parameters(Self.parameters)[0])
        limit = try arguments.seconds("timeout")
        linkParameters = try arguments.linkParameters("parameters").last
        security = try SecurityOptions(arguments)
        try StandardInput.check(for: Self.lines)
    }

    /// What it reads standard input for.
    private static let lines = "the commands of the shell"

    func run(in environment: CommandEnvironment) async throws {
        try StandardInput.claim(for: Self.lines)
        let deadline = limit.map { Deadline(in: $0) }
        let failure = try await environment.withLink(
            to: peripheral,
            deadline,
            parameters: linkParameters,
            security: security
        ) { link in
            let database = try await environment.discover(link, deadline)
            environment.log.say("connected to \(peripheral.text); `help` lists the commands, `exit` ends")
            return try await runLines(LineEditor(completing: Self.candidates(database)), on: link, in: environment)
        }
        if let failure { throw failure }
    }

    /// Runs what is typed, or comes from a file.
    ///
    /// - Returns: what decides the exit status: Ctrl-C that has ended a command, whose results are incomplete, or that
    ///   one has failed. `nil` at a terminal: a person has seen what failed.
    private func runLines(
        _ editor: LineEditor,
        on link: Link,
        in environment: CommandEnvironment
    ) async throws -> (any Error)? {
        var failure: (any Error)?
        while let line = try await editor.line("\(peripheral.text)> ") {
            do {
                let words = try ShellWords.split(line)
                guard let first = words.first else { continue }
                if ["exit", "quit"].contains(first) {
                    guard words.count == 1 else { throw UsageError("\(first) takes no arguments") }
                    break
                }
                try await run(first, Array(words.dropFirst()), on: link, in: environment)
            } catch let error as UsageError {
                environment.log.say(error.message)
                failure = failure ?? AlreadyTold()
            } catch let error as BLEError {
                environment.log.say(error.messageText)
                failure = failure ?? AlreadyTold()
            } catch is AlreadyTold {
                failure = failure ?? AlreadyTold()
            } catch is OutputClosed {
                // What failed before the reader left has failed all the same.
                break
            } catch let interruption as Interrupted where !interruption.endsAll {
                environment.log.say("interrupted")
                failure = interruption
            }
        }
        return editor.isInteractive ? nil : failure
    }

    private func run(
        _ name: String,
        _ words: [String],
        on link: Link,
        in environment: CommandEnvironment
    ) async throws {
        let columns = environment.output.columns
        if name == "help" {
            guard words.isEmpty else { throw UsageError("help takes no arguments; COMMAND --help explains a command") }
            return try environment.output.write(Array("\(Self.help(for: columns))\n".utf8))
        }
        guard let command = Self.commands.first(where: { $0.name == name }) else {
            throw UsageError("there is no command '\(name)' here; `help` lists them")
        }
        let options = command.options + Self.commonOptions
        let common = environment.output.isJSON ? ["--json"] : []
        let arguments = try Arguments(parsing: common + [peripheral.text] + words, options: options)
        if arguments.has("help") {
            let usage = "usage: \(name) [OPTION]…\(Self.parameters(of: command))"
            let text = Help.text(of: command, usage: usage, options, for: columns)
            return try environment.output.write(Array("\(text)\n".utf8))
        }
        var environment = environment
        if arguments.has("json") { environment.output = Output(isJSON: true) }
        // The shell's own --fresh concerns what was remembered before its link.
        environment.isFresh = arguments.has("fresh")
        environment.shell = (link, security)
        let place = environment
        do {
            // Ctrl-C ends this command, not the shell; also while the command waits for a file that an option names.
            try await environment.signals.interrupt {
                let call = try Self.call(command, arguments)
                if place.isFresh { link.forgetServices() }
                try await call.run(in: place)
            }
        } catch var error as BLEError {
            error.remedy = inShell(error.remedyText)
            environment.log.say(error.messageText)
            if place.output.isJSON { environment.log.object(.object(("error", error.json))) }
            throw AlreadyTold()
        }
    }

    /// The command with these arguments, for which it may read files.
    private static func call(_ command: any Command.Type, _ arguments: Arguments) throws -> any Command {
        do throws(UsageError) {
            return try arguments.make(command)
        } catch {
            guard !error.isInterruption else { throw CancellationError() }
            throw error
        }
    }

    // MARK: - The commands

    /// The commands that concern one device.
    private static let commands: [any Command.Type] = [
        Info.self, LinkCommand.self, Read.self, Write.self, Notify.self, Transfer.self, Update.self, Verify.self,
        Pair.self, Unpair.self,
    ]

    /// The options of every command that apply to a part of a command, too.
    private static let commonOptions = Option.common.filter { ["json", "help"].contains($0.name) }

    /// What is written behind a command: the address is that of the shell's device.
    private static func parameters(of command: any Command.Type) -> String {
        command.parameters.dropFirst().map { " \($0)" }.joined()
    }

    /// A remedy with commands as they are written here: `info` for `ble info C4:F2:17:1A:1D:BB`, and
    /// `notify --reconnect` for `ble notify --reconnect`.
    ///
    /// The remedy has the address as the library writes it, and not as it was typed: in lower case, or with its kind.
    private func inShell(_ remedy: String) -> String {
        guard let address = BluetoothAddress.candidates(for: peripheral.text).first else { return remedy }
        return Self.commands.reduce(remedy) { remedy, command in
            remedy.replacing("`ble \(command.name) \(address)`", with: "`\(command.name)`")
                .replacing("`ble \(command.name) --", with: "`\(command.name) --")
        }
    }

    private static func help(for columns: Int?) -> String {
        let rows = commands.map { ($0.name + parameters(of: $0), $0.summary) }
        let end = "COMMAND --help explains a command. exit or Ctrl-D ends the shell."
        return Help.table(rows, for: columns) + "\n\n" + end.wrapped(to: columns, hanging: 0)
    }

    private static func candidates(_ database: GATTDatabase) -> [String] {
        let options = commands.flatMap { $0.options }.map { "--\($0.name)" } + ["--json", "--help"]
        let uuids = database.services.flatMap(\.characteristics).map { "\($0.uuid)" }
        return Array(Set(commands.map { $0.name } + ["help", "exit"] + options + uuids)).sorted()
    }
}
