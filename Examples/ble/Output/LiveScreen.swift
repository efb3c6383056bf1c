/// Lines at the end of a terminal that are rewritten in place.
struct LiveScreen {
    private let output: Output
    /// How many lines were written last, and how large the terminal was then.
    private var height = 0
    private var size: TerminalSize?

    init(_ output: Output) { self.output = output }

    /// Shows these lines in place of the previous ones.
    mutating func show(_ lines: [String], on size: TerminalSize) throws {
        // A terminal that was resized may have rewrapped the lines, so it is unknown where they begin.
        let start = self.size.map { $0 == size ? "" : "\u{1B}[H\u{1B}[J" } ?? ""
        let up = height > 0 && start.isEmpty ? "\u{1B}[\(height)A" : ""
        let text = lines.map { "\($0)\u{1B}[K\n" }.joined()
        try output.write(Array("\(start)\(up)\r\(text)\u{1B}[J".utf8))
        (height, self.size) = (lines.count, size)
    }
}
