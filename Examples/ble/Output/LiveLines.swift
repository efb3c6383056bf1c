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

    /// What waits for an answer, and where it was asked.
    private struct Question {
        var text: String
        var descriptor: Int32
    }

    private struct State {
        /// During a question it isn't on the terminal, but will be again.
        var shown: Shown?
        var question: Question?

        /// Whether a question waits on the terminal that the descriptor is.
        func isAsking(on descriptor: Int32) -> Bool {
            question.map { isOneTerminal($0.descriptor, descriptor) } ?? false
        }
    }

    /// Those of this process's terminal: there is one.
    static let standard = LiveLines()

    private let state = Mutex(State())

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
        try state.withLock { state in
            if !state.isAsking(on: descriptor) {
                let up = start ?? state.shown.map { Self.up($0.height) } ?? ""
                try write("\(up)\r\(text)\(height > 0 ? "\u{1B}[J" : "\u{1B}[K")")
            }
            state.shown = Shown(text: text, height: height, descriptor: descriptor)
        }
    }

    /// Leaves the lines where they are.
    func end() { state.withLock { $0.shown = nil } }

    /// Writes whole lines: above the live ones, if they are on the same terminal.
    func put(_ text: String, on descriptor: Int32) {
        state.withLock { state in
            var text = text
            if let question = state.question, state.isAsking(on: descriptor) {
                // Below what has been typed of the answer, which the terminal keeps.
                text = "\n" + text + question.text
            } else if let shown = state.shown, isOneTerminal(shown.descriptor, descriptor) {
                text = shown.erasure + text + shown.text
            }
            _ = writeAll(Array(text.utf8), to: descriptor)
        }
    }

    /// Asks a question, in place of the live lines if they are on the same terminal: they come back with
    /// ``answered(withLineEnd:)``, below the question, as they are then.
    ///
    /// - Parameters:
    ///   - question: what is asked; the answer is typed behind it.
    ///   - descriptor: where it is asked.
    func ask(_ question: String, on descriptor: Int32) {
        state.withLock { state in
            var text = question
            if let shown = state.shown, isOneTerminal(shown.descriptor, descriptor) { text = shown.erasure + text }
            _ = writeAll(Array(text.utf8), to: descriptor)
            state.question = Question(text: question, descriptor: descriptor)
        }
    }

    /// The question waits no longer.
    ///
    /// - Parameter isLineEnded: whether a typed line has moved the cursor below the question.
    func answered(withLineEnd isLineEnded: Bool) {
        state.withLock { state in
            guard let question = state.question.take() else { return }
            var text = isLineEnded ? "" : "\n"
            if let shown = state.shown, isOneTerminal(shown.descriptor, question.descriptor) { text += shown.text }
            _ = writeAll(Array(text.utf8), to: question.descriptor)
        }
    }

    /// Ctrl-C was typed, which a terminal shows as `^C` where the cursor is: live lines are written over it; otherwise
    /// what is written next, even by a shell, begins a line of its own.
    func interrupted(on descriptor: Int32) {
        state.withLock { state in
            // What ends the question also ends its line.
            if state.isAsking(on: descriptor) { return }
            var text = "\n"
            if let shown = state.shown, isOneTerminal(shown.descriptor, descriptor) {
                text = shown.erasure + shown.text
            }
            _ = writeAll(Array(text.utf8), to: descriptor)
        }
    }

    private static func up(_ count: Int) -> String { count > 0 ? "\u{1B}[\(count)A" : "" }
}

/// Whether both descriptors are the same terminal.
private func isOneTerminal(_ first: Int32, _ second: Int32) -> Bool {
    if first == second { return true }
    var (one, other) = (stat(), stat())
    guard fstat(first, &one) == 0, fstat(second, &other) == 0 else { return false }
    return one.st_mode & S_IFMT == S_IFCHR && one.st_rdev == other.st_rdev && one.st_ino == other.st_ino
}
