import Foundation

/// A line by which a file imports a module.
struct ImportLine {
    /// The file, from the package's folder on.
    var file: String
    var module: String
    /// The innermost condition of compilation around the line; `nil`: none.
    var condition: String?
}

extension ImportLine {
    /// The imports of all Swift files below a folder of the package, in the order of their files.
    static func all(below folder: String) throws -> [ImportLine] {
        let root = Package.folder.appending(path: folder).path
        // What a tutorial shows is a reader's program, and no part of the module.
        let names = try FileManager.default.subpathsOfDirectory(atPath: root).filter {
            $0.hasSuffix(".swift") && !$0.contains(".docc/")
        }
        return try names.sorted().flatMap { name in
            all(in: try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8), of: "\(folder)/\(name)")
        }
    }

    /// The imports of one file.
    static func all(in text: String, of file: String) -> [ImportLine] {
        var lines: [ImportLine] = []
        var conditions: [String] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words.first {
            case "#if": conditions.append(words.dropFirst().joined(separator: " "))
            case "#elseif", "#else":
                _ = conditions.popLast()
                conditions.append(words.dropFirst().joined(separator: " "))
            case "#endif": _ = conditions.popLast()
            default:
                guard let module = module(words) else { continue }
                lines.append(ImportLine(file: file, module: module, condition: conditions.last))
            }
        }
        return lines
    }

    private static func module(_ words: [Substring]) -> String? {
        let levels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        let rest = words.drop { $0.hasPrefix("@") || levels.contains($0) }
        guard rest.first == "import", let name = rest.dropFirst().drop(while: { kinds.contains($0) }).first else {
            return nil
        }
        return name.split(separator: ".").first.map { String($0) }
    }
}
