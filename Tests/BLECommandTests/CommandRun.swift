import Foundation
import Synchronization
import Testing

/// One run of the built `ble`, as a shell would start it.
final class CommandRun: Sendable {
    /// What came of a run.
    struct Result: Sendable {
        var status: Int32
        var output: [String]
        var errors: [String]

        /// What it said on standard error, as one text.
        var complaint: String { errors.joined(separator: "\n") }
    }

    /// Beside the test bundle: both are products of the same build.
    static let program = program("ble")

    /// Where a built program is.
    static func program(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: name).path
    }

    /// What is listened to for the moment to interrupt it.
    enum Channel {
        case output
        case errors
    }

    private let process: pid_t
    private let keyboard: Int32?
    private let output: LineReader
    private let errors: LineReader

    /// Starts it; with `--simulated` unless told otherwise.
    ///
    /// - Parameters:
    ///   - name: which program it is.
    ///   - words: as soon as it says these it is interrupted, as by Ctrl-C. What it waits for has limits in real time,
    ///     so this doesn't wait for a thread of the tests.
    ///   - times: in how many lines it has to say them.
    ///   - channel: where it says them.
    ///   - columns: how wide the terminals are that its output and errors go to; `nil`: they are pipes.
    ///   - isOneTerminal: whether both go to the same terminal, as a person has it; all is then in its output.
    ///   - input: what it reads on its standard input.
    ///   - typed: what a person types at its terminal instead.
    ///   - environment: what its environment has beside that of the tests.
    init(
        _ arguments: [String],
        simulated: Bool = true,
        of name: String = "ble",
        interruptedAt words: String? = nil,
        times: Int = 1,
        in channel: Channel = .errors,
        columns: UInt16? = nil,
        isOneTerminal: Bool = false,
        input: String = "",
        typed: String? = nil,
        environment: [String: String] = [:]
    ) throws {
        let child = try Child(
            Self.program(name),
            arguments + (simulated ? ["--simulated"] : []),
            columns: columns,
            isOneTerminal: isOneTerminal,
            input: input,
            typed: typed,
            environment: environment
        )
        let process = child.process
        self.process = process
        keyboard = child.keyboard
        let said = Mutex(0)
        let interrupt: @Sendable (String) -> Void = { line in
            guard let words, line.contains(words) else { return }
            let count = said.withLock { said in
                said += 1
                return said
            }
            // Once: a second Ctrl-C would spare it the cleaning up.
            if count == times { kill(process, SIGINT) }
        }
        let ignore: @Sendable (String) -> Void = { _ in }
        output = LineReader(child.output, onLine: channel == .output ? interrupt : ignore)
        errors = LineReader(child.errors, onLine: channel == .errors ? interrupt : ignore)
    }

    /// Leaves it so many descriptors beside those that it has open.
    func limitDescriptors(toMore count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
        let open = Set(names.compactMap { Int($0) })
        // The lowest numbers are given out first, also those between what it was handed on with high ones.
        let free = (0...).lazy.filter { !open.contains($0) }.prefix(count + 1)
        try limitDescriptors(to: Array(free)[count])
    }

    /// Leaves it the descriptors below this number, beside those that it has open.
    func limitDescriptors(to count: Int) throws {
        let program = Process()
        program.executableURL = URL(filePath: "/usr/bin/prlimit")
        program.arguments = ["--pid=\(process)", "--nofile=\(count):"]
        try program.run()
        program.waitUntilExit()
        guard program.terminationStatus == 0 else { throw POSIXError(.EPERM) }
    }

    /// Runs it to its end.
    static func run(_ arguments: String..., simulated: Bool = true) async throws -> Result {
        try await CommandRun(arguments, simulated: simulated).end()
    }

    /// Waits until it has ended, and has nothing more to say.
    func end() async throws -> Result {
        async let lines = output.rest()
        async let complaints = errors.rest()
        var result = await Result(status: -1, output: lines, errors: complaints)
        result.status = await Child.exitStatus(of: process)
        if let keyboard { close(keyboard) }
        return result
    }

    /// The next line of its results; `nil` when there is none any more.
    func line() async -> String? { await output.next() }

    /// Waits for a line on standard error that contains these words.
    func complaint(with words: String) async -> Bool {
        while let line = await errors.next() { if line.contains(words) { return true } }
        return false
    }

    /// Sends it a signal.
    func signal(_ number: Int32) { kill(process, number) }

    /// Reads no more of its results, as `head` does when it has enough.
    func stopReading() { output.stop() }
}

/// A JSON object that was printed on one line; fails the test where it is none.
func object(_ line: String?, _ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
    let line = try #require(line, "a line was expected", sourceLocation: location)
    let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
    return try #require(value as? [String: Any], "no object: \(line)", sourceLocation: location)
}

/// A folder of its own for the files of one test.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "ble-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}
