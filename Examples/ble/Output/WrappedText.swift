import ConsoleOutput

extension String {
    /// The text for a terminal with this many columns: long lines are broken between fields, which two spaces separate,
    /// otherwise between words, and within a word only if it is longer than a line. A command in backticks, which may
    /// be copied, and a number with its unit stay in one line. `nil`: the text goes elsewhere, and its lines aren't
    /// broken.
    ///
    /// - Parameter hanging: how much farther the rest of a line is indented than its beginning.
    func wrapped(to columns: Int?, hanging: Int = 2) -> String {
        guard let columns, columns > 0 else { return self }
        return split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = String(line)
            return line.columns > columns ? LineBreaker.lines(of: line, columns, hanging).joined(separator: "\n") : line
        }
        .joined(separator: "\n")
    }
}

/// Breaks one line that is too long.
private struct LineBreaker {
    private let columns: Int
    /// What each line after the first begins with.
    private let indentation: String
    private var lines: [String] = []
    private var line: String
    private var used: Int
    /// Whether the line contains only its indentation.
    private var isBlank = true
    /// How many fields have been added.
    private var fields = 0

    static func lines(of text: String, _ columns: Int, _ hanging: Int) -> [String] {
        var breaker = LineBreaker(text, columns, hanging)
        let text = text.drop { $0 == " " }
        for field in text.split(separator: "  ", omittingEmptySubsequences: false) { breaker.add(field: String(field)) }
        return breaker.lines + [breaker.line]
    }

    private init(_ text: String, _ columns: Int, _ hanging: Int) {
        self.columns = columns
        let spaces = text.prefix { $0 == " " }.count
        // A single word is broken into a block. On a narrow screen, half of the width is left for the text.
        let hanging = text.dropFirst(spaces).contains(" ") ? hanging : 0
        let room = columns / 2
        line = String(repeating: " ", count: min(spaces, room))
        used = line.count
        indentation = String(repeating: " ", count: min(spaces + hanging, room))
    }

    private mutating func add(field: String) {
        defer { fields += 1 }
        let width = field.columns
        let gap = isBlank ? 0 : 2
        if used + gap + width <= columns { return append(field, behind: gap) }
        // A time or a handle doesn't stand alone, before a sentence that fills a line of its own.
        let isSentence = fields == 1 && field.contains(" ") && !field.hasPrefix("\"") && !field.hasPrefix("(")
        if indentation.count + width <= columns, !isSentence {
            endLine()
            return append(String(field.drop { $0 == " " }), behind: 0)
        }
        var gapBefore = gap
        for word in words(of: field) {
            add(word: word, behind: gapBefore)
            gapBefore = 1
        }
    }

    /// The words of a field; those that stay in one line are one of them, if they have room in one.
    private func words(of field: String) -> [String] {
        var words: [String] = []
        var isCommandOpen = false
        for word in field.split(separator: " ").map(String.init) {
            let isUnit = Self.units.contains(String(word.prefix { $0.isLetter || "%°/".contains($0) }))
            let isMore = isCommandOpen || isUnit && words.last?.last?.isNumber == true
            if isMore, let last = words.last, last.columns + 1 + word.columns <= columns - indentation.count {
                words[words.count - 1] = "\(last) \(word)"
            } else {
                words.append(word)
            }
            if word.count(where: { $0 == "`" }) % 2 == 1 { isCommandOpen.toggle() }
        }
        return words
    }

    /// What isn't separated from the number before it.
    private static let units: Set = ["s", "ms", "min", "seconds", "%", "dBm", "kB", "kB/s", "°C", "octets"]

    private mutating func add(word: String, behind gap: Int) {
        let width = word.columns
        if used + gap + width > columns, !isBlank { endLine() }
        if used + width <= columns { return append(word, behind: isBlank ? 0 : gap) }
        let isHexadecimal = word.allSatisfy(\.isHexDigit)
        if !isHexadecimal, width <= columns {
            // Farther to the left it is whole, and can be copied.
            line = String(repeating: " ", count: columns - width)
            used = line.count
            return append(word, behind: 0)
        }
        var rest = Substring(word)
        while !rest.isEmpty {
            // An octet has two digits.
            let piece = rest.prefix(isHexadecimal && columns > indentation.count + 1 ? 2 : 1)
            rest = rest.dropFirst(piece.count)
            let text = String(piece)
            if used + text.columns > columns, !isBlank { endLine() }
            append(text, behind: 0)
        }
    }

    private mutating func append(_ text: String, behind gap: Int) {
        line += String(repeating: " ", count: gap) + text
        used += gap + text.columns
        isBlank = false
    }

    private mutating func endLine() {
        lines.append(line)
        line = indentation
        used = indentation.count
        isBlank = true
    }
}
