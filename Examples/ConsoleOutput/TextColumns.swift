/// The width of text on a terminal, and how to fit it into a width.
extension String {
    /// The number of columns that the text takes on a terminal; it must be ``harmless``.
    package var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }

    /// The text in exactly this many columns: padded, or cut with `…` at its end. What moves the cursor is escaped
    /// first.
    package func fitted(to width: Int) -> String {
        guard width > 0 else { return "" }
        let text = harmless
        let columns = text.columns
        if columns <= width { return text + String(repeating: " ", count: width - columns) }
        var (cut, used) = ("", 0)
        for character in text {
            let more = String(character).columns
            // A wide character may leave a column before the mark empty.
            guard used + more < width else { break }
            cut.append(character)
            used += more
        }
        return cut + "…" + String(repeating: " ", count: width - used - 1)
    }
}

extension Unicode.Scalar {
    /// As terminals count: none for a combining mark, two for East Asian wide characters and emoji.
    ///
    /// Source: Unicode Standard Annex 11.
    var columns: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        if value < 0x1100 { return 1 }
        // The middle and the end of a Hangul syllable are drawn within its beginning.
        if (0x1160...0x11FF).contains(value) { return 0 }
        if properties.isEmojiPresentation { return 2 }
        return Self.wide.contains { $0.contains(value) } ? 2 : 1
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18AFF, 0x1B000...0x1B2FF, 0x1F200...0x1F265, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
        0x1F900...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}
