/// A snippet as a file that can be compiled: what only stands at file level stands there, the rest in a function.
///
/// A line that is nothing but `…`, and `{ … }`, stand for whatever a reader has there. Nothing else is added or left
/// out.
struct SnippetSource {
    /// Lines that keep their numbers in the page that they are from.
    private struct Part {
        private var lines: [String] = []
        private var last = 0

        var text: [String] { lines.isEmpty ? [] : lines + ["#sourceLocation()"] }

        mutating func add(_ code: String, _ line: Int, of file: String) {
            if line != last + 1 { lines.append("#sourceLocation(file: \"\(file)\", line: \(line))") }
            lines.append(code)
            last = line
        }
    }

    private var imports: [String] = [
        "import BLEDevices", "import BLESimulator", "import BLEStreams", "import Foundation", "import Testing",
    ]
    private var declarations = Part()
    private var statements = Part()

    init(_ snippet: Snippet) {
        var depth = 0
        var isDeclaration = false
        for (offset, line) in snippet.lines.enumerated() {
            let code = Self.code(line)
            if depth == 0, code.hasPrefix("import ") {
                if !imports.contains(code) { imports.append(code) }
                continue
            }
            // A closing brace, or what follows in the same declaration, belongs to where the declaration is.
            if depth == 0, !code.hasPrefix("}") { isDeclaration = Self.standsAlone(code) }
            if isDeclaration {
                declarations.add(depth == 0 ? Self.private(code) : code, snippet.line + offset, of: snippet.file)
            } else {
                statements.add(code, snippet.line + offset, of: snippet.file)
            }
            depth += code.count { $0 == "{" } - code.count { $0 == "}" }
        }
    }

    /// The whole file.
    var text: String {
        let function = ["private func snippet() async throws {"] + statements.text + ["}"]
        return (imports + declarations.text + function).joined(separator: "\n") + "\n"
    }

    private static func code(_ line: String) -> String {
        let code = line.split(separator: "//", omittingEmptySubsequences: false).first ?? ""
        if code.allSatisfy({ $0 == " " || $0 == "…" }) { return "" }
        return line.replacing("{ … }", with: "{}")
    }

    private static func standsAlone(_ code: String) -> Bool { code.hasPrefix("extension ") || code.hasPrefix("@Test") }

    /// Two snippets may declare the same.
    private static func `private`(_ code: String) -> String {
        code.hasPrefix("extension ") ? "fileprivate \(code)" : code
    }
}
