import BLERadio
import BLEStreams
import ConsoleOutput
import Glibc
import Synchronization

/// Writes results to standard output: one line at a time, immediately, or several in one write.
struct Output: Sendable {
    /// Whether results are JSON objects.
    let isJSON: Bool

    let descriptor: Int32
    private let held = Held()

    /// What ``together(_:)`` holds back; `nil` if nothing is held back.
    private final class Held: Sendable {
        let octets = Mutex<[UInt8]?>(nil)
    }

    init(isJSON: Bool, to descriptor: Int32 = STDOUT_FILENO) {
        self.isJSON = isJSON
        self.descriptor = descriptor
    }

    /// Sends all that the closure prints in one write when it ends, even if it throws.
    ///
    /// - Parameter executor: where to write what would have to wait, for a caller on the thread that reads the links;
    ///   `nil`: here.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws, otherwise as ``print(_:_:)``.
    func together<Result>(
        waitingOn executor: (any TaskExecutor)? = nil,
        _ body: () throws -> Result
    ) async throws -> Result {
        held.octets.withLock { $0 = [] }
        let outcome = Swift.Result { try body() }
        let octets = held.octets.withLock { $0.take() } ?? []
        do {
            if let executor, octets.count > DescriptorWait.pipeRoom || !takesMore {
                try await withTaskExecutorPreference(executor) { try writeNow(octets) }
            } else if !octets.isEmpty {
                try writeNow(octets)
            }
        } catch {
            _ = try outcome.get()
            throw error
        }
        return try outcome.get()
    }

    /// Whether a write of a few octets need not wait.
    private var takesMore: Bool { DescriptorWait.isReady(descriptor, Int16(POLLOUT), within: .zero) }

    /// Prints a result: an object with `--json`, otherwise lines for a person, broken at the terminal's width.
    ///
    /// - Parameter isWhole: whether the lines are for a program, or to be copied, and so are never broken.
    /// - Throws: ``OutputClosed`` if nobody reads any more; a `BLEError` if it can't be written.
    func print(
        _ object: @autoclosure () -> JSON,
        _ text: @autoclosure () -> String,
        isWhole: Bool = false
    ) throws {
        guard !isJSON else { return try write(line: object()) }
        let lines = text().harmlessLines
        try write((isWhole ? lines : lines.wrapped(to: columns)) + "\n")
    }

    /// The width of the terminal that results go to; `nil` if it isn't a terminal.
    var columns: Int? { TerminalSize(of: descriptor)?.columns }

    /// Whether results go to a terminal.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Prints a result that is only for programs.
    func print(_ object: @autoclosure () -> JSON) throws {
        if isJSON { try write(line: object()) }
    }

    private func write(line object: JSON) throws {
        var octets: [UInt8] = []
        octets.reserveCapacity(120)
        object.write(to: &octets)
        octets.append(UInt8(ascii: "\n"))
        try write(octets)
    }

    /// Writes octets unchanged.
    func write(_ octets: [UInt8]) throws {
        let isHeld = held.octets.withLock { held in
            held?.append(contentsOf: octets)
            return held != nil
        }
        if !isHeld { try writeNow(octets) }
    }

    private func writeNow(_ octets: [UInt8]) throws {
        switch writeAll(octets, to: descriptor) {
        case 0: return
        case EPIPE: throw OutputClosed()
        case ECANCELED:
            Log(isVerbose: false).say("nobody reads standard output: the last results are lost")
            throw OutputClosed()
        case let error: throw BLEError.output(error)
        }
    }

    private func write(_ text: String) throws { try write(Array(text.utf8)) }
}

/// The reader of the results has left: the command has done its work.
struct OutputClosed: Error {}

/// The command has failed, and has already said why.
struct AlreadyTold: Error {}

/// Writes everything but results, to standard error.
struct Log: Sendable {
    /// Whether `-v` was given.
    let isVerbose: Bool

    private let descriptor: Int32

    /// What is rewritten in place, while messages come.
    let liveLines = LiveLines.standard

    init(isVerbose: Bool, to descriptor: Int32 = STDERR_FILENO) {
        (self.isVerbose, self.descriptor) = (isVerbose, descriptor)
    }

    /// Says something that everybody should know; it may contain text from a device.
    func say(_ text: String) {
        let lines = (Self.prefix + text.harmlessLines).wrapped(to: columns, hanging: Self.prefix.count)
        liveLines.put("\(lines)\n", on: descriptor)
    }

    /// Says a problem that makes no call fail.
    @Sendable func warn(_ problem: BLEError) { say(problem.messageText) }

    /// Replaces the text of the last call, until ``endLine()``; for terminals. Text that is too long for a line is cut,
    /// since the next text couldn't overwrite two lines.
    func overwrite(_ text: String) {
        let line = text.columns > room ? text.fitted(to: room) : text.harmless
        liveLines.replace(with: Self.prefix + line, height: 0, on: descriptor) {
            _ = writeAll(Array($0.utf8), to: descriptor)
        }
    }

    /// How many columns ``overwrite(_:)`` may use: the terminal's width without the last column, since some terminals
    /// wrap after it, and without two for the `^C` of a typed Ctrl-C.
    var room: Int { max(0, (columns ?? 80) - 3 - Self.prefix.count) }

    private var columns: Int? { TerminalSize(of: descriptor)?.columns }

    /// The width of the terminal that standard error is; `nil` if it isn't a terminal.
    static var columns: Int? { TerminalSize(of: STDERR_FILENO)?.columns }

    private static let prefix = "ble: "

    /// Leaves the last text where it is.
    func endLine() {
        liveLines.end()
        _ = writeAll([UInt8(ascii: "\n")], to: descriptor)
    }

    /// At a terminal, says what is being waited for if it takes more than a second, until the activity is cancelled.
    func tellIfItTakesLong(_ text: String) -> RadioActivity {
        guard !isVerbose, isatty(descriptor) == 1 else { return RadioActivity {} }
        return RealTimeline().schedule(after: .seconds(1)) { say(text) }
    }

    /// Writes an object for a program, on a line of its own.
    func object(_ object: JSON) { liveLines.put("\(object)\n", on: descriptor) }

    /// Says something that `-v` asks for.
    func detail(_ text: @autoclosure () -> String) {
        if isVerbose { say(text()) }
    }
}

/// The size of a terminal.
struct TerminalSize: Equatable {
    var columns: Int
    var rows: Int

    init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    /// The current size; `nil` if the descriptor isn't a terminal, or doesn't report its size.
    init?(of descriptor: Int32) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        (columns, rows) = (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }
}
