import BLEStreams
import ConsoleOutput
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// Lines that a person types, or from a file or a pipe.
///
/// At a terminal that can move its cursor, libedit or libreadline edits them, if one is installed; it is loaded, not
/// linked. A queue of its own waits for a line, and a cancelled wait returns at once.
final class LineEditor: Sendable {
    private typealias ReadLine = @Sendable @convention(c) (UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>?
    private typealias AddHistory = @Sendable @convention(c) (UnsafePointer<CChar>) -> Int32
    private typealias Complete = @convention(c) (UnsafePointer<CChar>?, Int32) -> UnsafeMutablePointer<CChar>?

    /// The functions of the library.
    private struct Library: Sendable {
        var readLine: ReadLine
        var addHistory: AddHistory
    }

    /// Whether the input is a terminal.
    let isInteractive = isatty(STDIN_FILENO) == 1
    private let library: Library?
    private let queue = DispatchQueue(label: "ble.lines")
    private let terminal: termios?

    /// The possible completions of a word; the library asks through a C function, which takes no context.
    private static let candidates = Mutex<[String]>([])

    init(completing candidates: [String]) {
        Self.candidates.withLock { $0 = candidates }
        library = canRewriteLines(on: STDIN_FILENO) ? Self.load() : nil
        var mode = termios()
        terminal = tcgetattr(STDIN_FILENO, &mode) == 0 ? mode : nil
    }

    deinit {
        // The library changes it while it waits for a line, which may never come.
        if var terminal { tcsetattr(STDIN_FILENO, TCSANOW, &terminal) }
    }

    /// The next line, without its end; `nil` at the end of the input.
    ///
    /// - Throws: a `BLEError` if the input can't be read: the lines that it may have are not run.
    func line(_ prompt: String) async throws -> String? {
        let lines = BLEStream<String?> { [queue, library, isInteractive] feed in
            queue.async {
                let line = Self.read(prompt, library, isInteractive)
                if line == nil, !isInteractive, let failure = Self.failure {
                    feed.finish(throwing: BLEError.input(failure))
                } else {
                    feed.send(line)
                }
            }
            return {}
        }
        let line = try await lines.first()
        // What a shell writes next doesn't stand behind the prompt.
        if line == nil, isInteractive { _ = writeAll([UInt8(ascii: "\n")], to: STDERR_FILENO) }
        return line
    }

    private static func read(_ prompt: String, _ library: Library?, _ isInteractive: Bool) -> String? {
        guard let library else {
            if isInteractive { _ = writeAll(Array(prompt.utf8), to: STDERR_FILENO) }
            return readLine()
        }
        guard let typed = library.readLine(prompt) else { return nil }
        defer { free(typed) }
        let line = String(cString: typed)
        if !line.isEmpty { _ = library.addHistory(typed) }
        return line
    }

    /// Why the input, which has no more lines, can't be read; `nil` if it has ended.
    private static var failure: Int32? {
        var octet: UInt8 = 0
        return Glibc.read(STDIN_FILENO, &octet, 1) < 0 ? errno : nil
    }

    // MARK: - The library

    private static func load() -> Library? {
        for name in ["libedit.so.2", "libreadline.so.8"] {
            guard let handle = dlopen(name, RTLD_NOW), let read = dlsym(handle, "readline"),
                let add = dlsym(handle, "add_history")
            else { continue }
            if let variable = dlsym(handle, "rl_completion_entry_function") {
                variable.assumingMemoryBound(to: Complete?.self).pointee = { start, number in
                    guard let start else { return nil }
                    return LineEditor.completion(of: String(cString: start), number)
                }
            }
            return Library(
                readLine: unsafeBitCast(read, to: ReadLine.self),
                addHistory: unsafeBitCast(add, to: AddHistory.self)
            )
        }
        return nil
    }

    /// The candidate with this number, in memory that the library frees; `nil` if there are no more.
    private static func completion(of start: String, _ number: Int32) -> UnsafeMutablePointer<CChar>? {
        let fitting = candidates.withLock { $0.filter { $0.hasPrefix(start) } }
        return fitting.indices.contains(Int(number)) ? strdup(fitting[Int(number)]) : nil
    }
}
