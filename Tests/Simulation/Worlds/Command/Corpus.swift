import Foundation

/// The seeds whose worlds have reached something that none before had: a line each, with how much that was.
struct Corpus: Sendable {
    var seeds: [UInt64]
    private var lines: [String]

    init(_ entries: [(seed: UInt64, features: Int)]) {
        seeds = entries.map(\.seed)
        lines = entries.map { "\($0.seed) \($0.features)" }
    }

    /// Reads a file; one that isn't there has none.
    init(file: String) throws {
        let text = FileManager.default.fileExists(atPath: file) ? try String(contentsOfFile: file, encoding: .utf8) : ""
        lines = text.split(separator: "\n").map(String.init)
        seeds = lines.compactMap { $0.split(separator: " ").first.flatMap { UInt64($0) } }
    }

    func write(to file: String) throws {
        try lines.map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
    }
}
