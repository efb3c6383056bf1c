import Glibc

/// Lines at the end of a terminal that are rewritten in place.
struct LiveScreen {
    private let output: Output
    private let lines: LiveLines
    /// How large the terminal was when lines were written last.
    private var size: TerminalSize?

    init(_ output: Output, _ log: Log) { (self.output, lines) = (output, log.liveLines) }

    /// Shows these lines in place of the previous ones.
    mutating func show(_ lines: [String], on size: TerminalSize) throws {
        // A terminal that was resized may have rewrapped the lines, so it is unknown where they begin.
        let isResized = self.size.map { $0 != size } ?? false
        let text = lines.map { "\($0)\u{1B}[K\n" }.joined()
        let start = isResized ? "\u{1B}[H\u{1B}[J" : nil
        try self.lines.replace(with: text, height: lines.count, on: STDOUT_FILENO, start: start) {
            try output.write(Array($0.utf8))
        }
        self.size = size
    }

    /// Leaves the lines where they are: what is written from now on comes below them.
    func end() { lines.end() }
}
