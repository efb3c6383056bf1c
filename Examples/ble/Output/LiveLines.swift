import Glibc
import Synchronization

/// The lines at the end of a terminal that are rewritten in place, and how other lines get above them.
///
/// Without this, a message on standard error would stand amid a table on the same terminal, and the next table would
/// begin a line too low.
final class LiveLines: Sendable {
    /// What stands at the end of the terminal.
    private struct Shown {
        var text: String
        /// How many lines the cursor is below the beginning of the text.
        var height: Int
        /// Where they were written.
        var descriptor: Int32

        /// Moves the cursor to the beginning of the text, and erases it.
        var erasure: String { LiveLines.up(height) + "\r\u{1B}[J" }
    }

    private let shown = Mutex<Shown?>(nil)

    /// Writes these lines in place of the previous ones.
    ///
    /// - Parameters:
    ///   - text: the lines, each with an end, or the one line without.
    ///   - height: how many ends of lines the text has.
    ///   - descriptor: where the lines are written.
    ///   - start: what comes before them in place of moving up, if it is unknown where the previous ones begin.
    ///   - write: writes to the descriptor.
    func replace(
        with text: String,
        height: Int,
        on descriptor: Int32,
        start: String? = nil,
        write: (String) throws -> Void
    ) rethrows {
        try shown.withLock { shown in
            let up = start ?? shown.map { Self.up($0.height) } ?? ""
            try write("\(up)\r\(text)\(height > 0 ? "\u{1B}[J" : "\u{1B}[K")")
            shown = Shown(text: text, height: height, descriptor: descriptor)
        }
    }

    /// Leaves the lines where they are.
    func end() { shown.withLock { $0 = nil } }

    /// Writes whole lines: above the live ones, if they are on the same terminal.
    func put(_ text: String, on descriptor: Int32) {
        shown.withLock { shown in
            guard let shown, Self.isOneTerminal(shown.descriptor, descriptor) else {
                _ = writeAll(Array(text.utf8), to: descriptor)
                return
            }
            _ = writeAll(Array((shown.erasure + text + shown.text).utf8), to: descriptor)
        }
    }

    private static func up(_ count: Int) -> String { count > 0 ? "\u{1B}[\(count)A" : "" }

    /// Whether both descriptors are the same terminal.
    private static func isOneTerminal(_ first: Int32, _ second: Int32) -> Bool {
        if first == second { return true }
        var (one, other) = (stat(), stat())
        guard fstat(first, &one) == 0, fstat(second, &other) == 0 else { return false }
        return one.st_mode & S_IFMT == S_IFCHR && one.st_rdev == other.st_rdev && one.st_ino == other.st_ino
    }
}
