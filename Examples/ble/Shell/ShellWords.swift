/// The words of a line.
enum ShellWords {
    /// Splits a line at spaces, except within 'single' or "double" quotes; `#` at the start of a word begins a comment.
    ///
    /// - Throws: a `UsageError` if a quote is not closed: the rest of the line may not be meant to be one word.
    static func split(_ line: String) throws(UsageError) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            switch character {
            case quote: quote = nil
            case _ where quote != nil: word = (word ?? "") + "\(character)"
            case "'", "\"":
                quote = character
                word = word ?? ""
            case "#" where word == nil: return words
            case _ where character.isWhitespace:
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + "\(character)"
            }
        }
        if let quote { throw UsageError("a quotation mark is not closed: write a second \(quote)") }
        return words + (word.map { [$0] } ?? [])
    }
}
