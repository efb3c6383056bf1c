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
        let found = text.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first.flatMap { UInt64($0) }.map { (seed: $0, line: String(line)) }
        }
        (seeds, lines) = (found.map(\.seed), found.map(\.line))
    }

    /// What is kept behind a run: first the seeds whose worlds have failed, or that it didn't get to, then those that
    /// have reached something new in it.
    func renewed(by entries: [(seed: UInt64, features: Int)], judged: Set<UInt64>) -> Corpus {
        var (renewed, known) = (Corpus(entries), judged.union(entries.map(\.seed)))
        let open = zip(seeds, lines).filter { known.insert($0.0).inserted }
        renewed.seeds = open.map(\.0) + renewed.seeds
        renewed.lines = open.map(\.1) + renewed.lines
        return renewed
    }

    func write(to file: String) throws {
        try lines.map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
    }
}
