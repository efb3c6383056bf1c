// Talks to Bluetooth Low Energy devices from the command line; `ble --help` says how.

import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

@main
enum BLE {
    @MainActor
    static func main() async {
        keepStandardStreams()
        // write() reports that the reader has left; no signal does.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Runs the command that the arguments name, and returns how it went.
    private static func run(_ words: [String]) async -> ExitStatus {
        switch Invocation(words) {
        case .help(let text): show(text)
        case .refused(let text): complain(text)
        case .command(let command, let common): await perform(command, common)
        }
    }

    private static func complain(_ text: String) -> ExitStatus {
        _ = writeAll(Array(text.harmlessLines.wrapped(to: Log.columns).utf8), to: STDERR_FILENO)
        return .usage
    }

    private static func show(_ help: String) -> ExitStatus {
        do {
            try Output(isJSON: false).write(Array((help + "\n").utf8))
            return .done
        } catch is OutputClosed {
            return .done
        } catch {
            Log(isVerbose: false).say((error as? BLEError)?.messageText ?? "\(error)")
            return .failed
        }
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
