import BLERadio
import BLEStreams
import Glibc
import Synchronization

/// Where results go: standard output, one line at a time, each at once; or several in one write.
struct Output: Sendable {
    /// Whether results are JSON objects.
    let isJSON: Bool

    private let descriptor: Int32
    private let held = Held()

    /// What ``together(_:)`` holds back; `nil` where nothing is held.
    private final class Held: Sendable {
        let octets = Mutex<[UInt8]?>(nil)
    }

    init(isJSON: Bool, to descriptor: Int32 = STDOUT_FILENO) {
        self.isJSON = isJSON
        self.descriptor = descriptor
    }

    /// Has all that the closure prints leave in one write, at its end, also where it throws.
    ///
    /// - Throws: what the closure throws, else as ``print(_:_:)``.
    func together(_ body: () throws -> Void) throws {
        held.octets.withLock { $0 = [] }
        let outcome = Result { try body() }
        let octets = held.octets.withLock { $0.take() } ?? []
        let written = Result { if !octets.isEmpty { try writeNow(octets) } }
        try outcome.get()
        try written.get()
    }

    /// Has what is held back leave, before something is said elsewhere that comes behind it.
    func flush() throws {
        let octets = held.octets.withLock { octets in
            defer { if octets != nil { octets = [] } }
            return octets ?? []
        }
        if !octets.isEmpty { try writeNow(octets) }
    }

    /// Prints a result: as an object with `--json`, else as lines for a person, broken as the terminal is wide.
    ///
    /// - Parameter isWhole: whether the lines are for a program, or to be copied, and are never broken.
    /// - Throws: ``OutputClosed`` when nobody reads any more; a `BLEError` when it can't be written.
    func print(
        _ object: @autoclosure () -> JSON,
        _ text: @autoclosure () -> String,
        isWhole: Bool = false
    ) throws {
        guard !isJSON else { return try write("\(object())\n") }
        let lines = text().harmlessLines
        try write((isWhole ? lines : lines.wrapped(to: columns)) + "\n")
    }

    /// How wide the terminal is that results go to; `nil` where it is none.
    var columns: Int? { TerminalSize(of: descriptor)?.columns }

    /// Prints a result that people need not be told.
    func print(_ object: @autoclosure () -> JSON) throws {
        if isJSON { try write("\(object())\n") }
    }

    /// Writes octets as they are.
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
        case let error: throw BLEError.file("write", "standard output", error)
        }
    }

    private func write(_ text: String) throws { try write(Array(text.utf8)) }
}

/// Whoever read the results has left: the command has done its work.
struct OutputClosed: Error {}

/// The command has failed, and has said how.
struct AlreadyTold: Error {}

/// Where everything goes that is no result: standard error.
struct Log: Sendable {
    /// Whether `-v` was given.
    let isVerbose: Bool

    /// Tells something that everybody should know; a device's words may be in it.
    func say(_ text: String) {
        let lines = (Self.prefix + text.harmlessLines).wrapped(to: Self.columns, hanging: Self.prefix.count)
        _ = writeAll(Array("\(lines)\n".utf8), to: STDERR_FILENO)
    }

    /// Tells something in place of what this last told, until ``endLine()``; for terminals. What is too long for a line
    /// is cut: the next text could not be written over two lines.
    func overwrite(_ text: String) {
        let line = text.columns > room ? text.fitted(to: room) : text.harmless
        _ = writeAll(Array("\r\(Self.prefix)\(line)\u{1B}[K".utf8), to: STDERR_FILENO)
    }

    /// How many columns ``overwrite(_:)`` has room for: the terminal's width, without the last column, behind which
    /// some begin the next line.
    var room: Int { max(0, (Self.columns ?? 80) - 1 - Self.prefix.count) }

    /// How wide the terminal is; `nil` where it is none.
    static var columns: Int? { TerminalSize(of: STDERR_FILENO)?.columns }

    private static let prefix = "ble: "

    /// Leaves what was told last where it is.
    func endLine() { _ = writeAll([UInt8(ascii: "\n")], to: STDERR_FILENO) }

    /// Tells what is waited for, at a terminal, if that takes more than a second, until the activity is cancelled.
    func tellIfItTakesLong(_ text: String) -> RadioActivity {
        guard !isVerbose, isatty(STDERR_FILENO) == 1 else { return RadioActivity {} }
        return RealTimeline().schedule(after: .seconds(1)) { say(text) }
    }

    /// Tells something to a program, on a line of its own.
    func object(_ object: JSON) { _ = writeAll(Array("\(object)\n".utf8), to: STDERR_FILENO) }

    /// Tells something that `-v` asks for.
    func detail(_ text: @autoclosure () -> String) {
        if isVerbose { say(text()) }
    }
}

/// How large the terminal is.
struct TerminalSize: Equatable {
    var columns: Int
    var rows: Int

    init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    /// The size now; `nil` where the descriptor is no terminal, or one that doesn't tell.
    init?(of descriptor: Int32) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        (columns, rows) = (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }
}

/// Writes all octets to a file descriptor; the `errno` of the failure, or 0.
func writeAll(_ octets: [UInt8], to descriptor: Int32) -> Int32 {
    octets.withUnsafeBytes { buffer in
        var position = 0
        while position < buffer.count {
            let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + position }, buffer.count - position)
            if count >= 0 {
                position += count
            } else if errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
