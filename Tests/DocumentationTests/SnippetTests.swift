import Testing

/// What the README and the documentation comments show compiles, as it stands there.
@Suite(.timeLimit(.minutes(10))) struct SnippetTests {
    private func complaints(about snippets: [Snippet]) throws -> String {
        let sources = snippets.enumerated().map { ("snippet\($0.offset)", SnippetSource($0.element).text) }
        return try Compiler().complaints(about: Dictionary(uniqueKeysWithValues: sources))
    }

    @Test func `every snippet of the README and of the documentation comments compiles`() throws {
        let snippets = try Package.snippets()
        #expect(snippets.contains { $0.file == "README.md" } && snippets.count > 40)
        let complaints = try complaints(about: snippets)
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test func `a snippet that does not compile is told by its file and line`() throws {
        let text = "Words.\n\n```swift\nlet count = 1\nlet name: String = count\n```\n"
        let snippets = Snippet.all(in: text, of: "Page.md", isCode: false)
        #expect(snippets.map(\.line) == [4])
        let complaints = try complaints(about: snippets)
        #expect(complaints.contains("Page.md:5:"), "\(complaints)")
    }

    @Test func `a snippet stands in a comment, with what belongs to file level there`() {
        let text = """
                /// Words.
                /// ```swift
                /// import Glibc
                /// extension Int {
                ///     var twice: Int { 2 * self }
                /// }
                /// …                   // more of it
                /// link.each { … }
                /// ```
                func other() {}
            """
        let snippets = Snippet.all(in: text, of: "Some.swift", isCode: true)
        #expect(snippets.map(\.line) == [3] && snippets.first?.lines.count == 6)
        let source = snippets.first.map { SnippetSource($0).text } ?? ""
        let parts = source.split(separator: "private func snippet() async throws {")
        #expect(parts.count == 2 && parts[0].contains("import Glibc") && parts[0].contains("var twice"))
        #expect(parts.last?.contains("link.each {}") == true && parts.last?.contains("…") == false)
    }
}
