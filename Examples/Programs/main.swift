// Nine small programs, each in a file of its own: starting points for a gateway, a tester or a logger.
//
//   swift run Programs                       lists them
//   swift run Programs logger                runs one, on this machine's adapter; without one, on a simulated air
//   swift run Programs logger --simulated    runs it on a simulated air, with simulated devices
//
// Ctrl-C switches off what was switched on, and drops the links, before a program ends.

import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

/// One of the programs.
struct Program: Sendable {
    /// The name that selects it.
    var name: String
    /// What it does, and the arguments that follow its name.
    var summary: String
    /// The most arguments that it takes.
    var mostWords = 0
    /// The arguments that it gets in the simulation if none are given.
    var words: @Sendable () throws -> [String] = { [] }
    /// Runs it until it is done or cancelled.
    var run: @Sendable (AdapterChoice, [String]) async throws -> Void
    /// Whether it handles SIGINT, SIGTERM and SIGHUP itself.
    var takesSignals = false
    /// The simulated devices that it talks to.
    var devices: @Sendable (Stage) async throws -> Void
}

/// The command line is wrong.
struct Usage: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

let programs = [
    Program(name: "logger", summary: "logs all thermometers nearby as CSV", run: logger, devices: thermometers),
    Program(
        name: "console",
        summary: "is a console on a serial line (Nordic UART)",
        mostWords: .max,
        words: { ["AT", "AT+VERSION"] },
        run: console,
        devices: modem
    ),
    Program(name: "presence", summary: "says which iBeacons come and go", run: presence, devices: beacons),
    Program(
        name: "configure",
        summary: "changes all of some settings, or none: [interval=MS] [label=TEXT]",
        mostWords: .max,
        words: { ["interval=1000", "label=Kitchen"] },
        run: configure,
        devices: configurable
    ),
    Program(
        name: "update",
        summary: "updates firmware, and resumes after a lost link: FILE",
        mostWords: 1,
        words: { [try firmwareFile()] },
        run: update,
        devices: updatable
    ),
    Program(
        name: "passkey",
        summary: "reads a value that needs a passkey: [PASSKEY]",
        mostWords: 1,
        words: { ["123456"] },
        run: passkey,
        devices: lock
    ),
    Program(
        name: "thermostat",
        summary: "keeps a room warm: [DEGREES]",
        mostWords: 1,
        run: thermostat,
        devices: room
    ),
    Program(
        name: "operators",
        summary: "is a tour of the operators, with a heart-rate sensor",
        run: operators,
        devices: heart
    ),
    Program(
        name: "server",
        summary: "is a thermometer that takes its leave when it is ended",
        run: server,
        takesSignals: true,
        devices: visitor
    ),
]

func start(_ program: Program, _ words: [String], isSimulated: Bool) async throws {
    if isSimulated { return try await simulate(program, words) }
    do {
        try await program.run(.default, words)
    } catch let error as BLEError where error.code == .adapterNotFound || error.code == .unsupportedSystem {
        printError("No adapter: \(error)")
        try await simulate(program, words)
    }
}

printLinesAtOnce()
var words = CommandLine.arguments.dropFirst().filter { $0 != "--simulated" }
let isSimulated = CommandLine.arguments.contains("--simulated")
do {
    if let wrong = words.first(where: { $0.hasPrefix("--") }) {
        let name = wrong.prefix { $0 != "=" }
        guard name != "--simulated" else { throw Usage("--simulated takes no value: write it without '='.") }
        throw Usage("There is no option '\(name)'; there is --simulated.")
    }
    guard let name = words.first, let program = programs.first(where: { $0.name == name }) else {
        for program in programs { print("swift run Programs \(program.name)   \(program.summary)") }
        exit(words.isEmpty ? 0 : 2)
    }
    words.removeFirst()
    guard words.count <= program.mostWords else {
        // It doesn't repeat them: one may be a part of a passkey.
        let most = program.mostWords == 0 ? "none" : "at most \(program.mostWords)"
        throw Usage("There are too many arguments: \(name) takes \(most).")
    }
    if program.takesSignals {
        try await start(program, words, isSimulated: isSimulated)
    } else {
        let words = words
        try await TerminationSignals().interrupt { try await start(program, words, isSimulated: isSimulated) }
    }
} catch is Interrupted {
    exit(Interrupted.exitStatus)
} catch {
    printError("\(error)")
    exit(error is Usage ? 2 : 1)
}
