/// What stands on a terminal after octets have been written to it: enough of one for what `ble` moves the cursor with.
struct TerminalPicture {
    private var rows: [[Character]] = [[]]
    private var row = 0
    private var column = 0

    /// The lines, from the first one that was ever written on, without blanks at their ends.
    var lines: [String] {
        rows.map { cells in
            var cells = cells
            while cells.last == " " { cells.removeLast() }
            return String(cells)
        }
    }

    /// Writes text; a line end also returns to the first column, as terminals are set.
    mutating func write(_ text: String) {
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "\r": column = 0
            case "\n", "\r\n": lineEnd()
            case "\u{1B}": obey(&rest)
            default: put(character)
            }
        }
    }

    private mutating func lineEnd() {
        (row, column) = (row + 1, 0)
        if row == rows.count { rows.append([]) }
    }

    private mutating func put(_ character: Character) {
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = character
        column += 1
    }

    /// `[nA` goes up, `[K` erases the rest of the line, `[J` that of the screen, `[H` goes to its beginning.
    private mutating func obey(_ rest: inout Substring) {
        guard rest.popFirst() == "[" else { return }
        let digits = rest.prefix { $0.isNumber }
        rest = rest.dropFirst(digits.count)
        switch rest.popFirst() {
        case "A": row = max(0, row - (Int(digits) ?? 1))
        case "H": (row, column) = (0, 0)
        case "K": eraseLine()
        case "J":
            eraseLine()
            rows.removeLast(rows.count - row - 1)
        default: break
        }
    }

    private mutating func eraseLine() { rows[row] = Array(rows[row].prefix(column)) }
}
