import Foundation

/// A block of Swift in a page or in a documentation comment.
struct Snippet {
    /// The file, from the package's folder on.
    var file: String
    /// The line of the file that holds the first line of the block, from 1 on.
    var line: Int
    var lines: [String]
}

extension Snippet {
    /// All blocks marked `swift` in a text.
    ///
    /// - Parameter isCode: whether the text is Swift, whose blocks stand in comments that begin with `///`.
    static func all(in text: String, of file: String, isCode: Bool) -> [Snippet] {
        var snippets: [Snippet] = []
        var current: Snippet?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let content = isCode ? comment(line) : String(line) else {
                current = nil
                continue
            }
            if let open = current {
                if content.hasPrefix("```") {
                    snippets.append(open)
                    current = nil
                } else {
                    current?.lines.append(content)
                }
            } else if content == "```swift" {
                current = Snippet(file: file, line: index + 2, lines: [])
            }
        }
        return snippets
    }

    /// What a documentation comment says in this line; `nil` where it is none.
    private static func comment(_ line: Substring) -> String? {
        let trimmed = line.drop { $0 == " " }
        guard trimmed.hasPrefix("///") else { return nil }
        let content = trimmed.dropFirst(3)
        return String(content.first == " " ? content.dropFirst() : content)
    }
}

/// The package's folder, and the files in it that have snippets.
///
/// A package inside it, such as Examples/Gateway, compiles its own.
enum Package {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    static func snippets() throws -> [Snippet] {
        var snippets = try Snippet.all(in: text(of: "README.md"), of: "README.md", isCode: false)
        for top in ["Sources", "Examples"] {
            let files = FileManager.default.enumerator(atPath: folder.appending(path: top).path)
            for case let path as String in files ?? .init() where [".swift", ".md"].contains(where: path.hasSuffix) {
                let file = "\(top)/\(path)"
                if innerPackages.contains(where: file.hasPrefix) { continue }
                snippets += Snippet.all(in: try text(of: file), of: file, isCode: path.hasSuffix(".swift"))
            }
        }
        return snippets.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
    }

    /// Their folders, as the beginnings of paths.
    private static let innerPackages: [String] = {
        let examples = folder.appending(path: "Examples")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: examples.path)) ?? []
        return names.map { "Examples/\($0)/" }.filter {
            FileManager.default.fileExists(atPath: folder.appending(path: "\($0)Package.swift").path)
        }
    }()

    private static func text(of file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }
}
