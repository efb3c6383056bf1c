// Talks to Bluetooth Low Energy devices from the command line; `ble --help` says how.

import BLEStreams
import Glibc
import Interruption

@main
enum BLE {
    /// The version of the package.
    static let version = "0.1.0"

    @MainActor
    static func main() async {
        // A reader that has left is told by write(), not by a signal.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Runs the command that the words name; how it went.
    private static func run(_ words: [String]) async -> ExitStatus {
        var name = "ble"
        do throws(UsageError) {
            let before = try Arguments(parsing: words, options: Option.common + [Option.version], stopsAtWord: true)
            if before.has("version") { return show("ble \(version)") }
            guard let word = before.words.first else {
                if before.has("help") { return show(Help.text) }
                return complain("ble: a command is missing\n\n\(Help.text)\n")
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
            if arguments.has("help") { return show(Help.text(of: command)) }
            let common = try CommonOptions(arguments)
            return await perform(try command.init(arguments), common)
        } catch {
            return complain("\(name): \(error.message)\nTry `\(name) --help`.\n")
        }
    }

    private static func complain(_ text: String) -> ExitStatus {
        _ = writeAll(Array(text.utf8), to: STDERR_FILENO)
        return .usage
    }

    private static func show(_ help: String) -> ExitStatus {
        writeAll(Array((help + "\n").utf8), to: STDOUT_FILENO) == 0 ? .done : .failed
    }

    private static func perform(_ command: some Command, _ common: CommonOptions) async -> ExitStatus {
        let log = Log(isVerbose: common.isVerbose)
        do {
            try await command.run(common, log)
            return .done
        } catch is Interrupted {
            return .interrupted
        } catch is OutputClosed {
            return .done
        } catch is AlreadyTold {
            return .failed
        } catch {
            let failure = error as? BLEError ?? BLEError(.systemFailure, operation: "ble", cause: "\(error)")
            log.say(failure.messageText)
            if common.isJSON { log.object(.object(("error", failure.json))) }
            return .failed
        }
    }
}

/// How the command went.
enum ExitStatus: Int32 {
    case done = 0
    case failed = 1
    case usage = 2
    case interrupted = 130
}
