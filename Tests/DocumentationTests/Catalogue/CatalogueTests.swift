import Foundation
import Testing

/// The toolchain's `docc` builds the documentation without a warning.
///
/// `DOCUMENTATION_FOLDER=/tmp/documentation swift test --filter CatalogueTests` keeps what it builds, for a web server.
@Suite(.timeLimit(.minutes(10))) struct CatalogueTests {
    private static let catalogue = Package.folder.appending(path: "Sources/BLEStreams/BLEStreams.docc")

    private func build(_ catalogue: URL) throws -> (graphs: SymbolGraphs, complaints: String) {
        let toolchain = try Toolchain()
        return try toolchain.withFolder { folder in
            let graphs = folder.appending(path: "graphs")
            try FileManager.default.createDirectory(at: graphs, withIntermediateDirectories: true)
            let kept = ProcessInfo.processInfo.environment["DOCUMENTATION_FOLDER"]
            let words = [
                "docc", "convert", catalogue.path, "--additional-symbol-graph-dir", graphs.path, "--output-dir",
                kept ?? folder.appending(path: "archive").path, "--fallback-display-name", "BLEStreams",
                "--fallback-bundle-identifier", "BLEStreams", "--fallback-default-module-kind", "Package",
                "--warnings-as-errors",
            ]
            let content = try SymbolGraphs(writingTo: graphs, with: toolchain)
            return (content, try toolchain.run(words, output: folder.appending(path: "output")))
        }
    }

    @Test func `docc builds the documentation without a warning, every declaration has a comment and a topic`() throws {
        let (graphs, complaints) = try build(Self.catalogue)
        #expect(complaints.isEmpty, "\(complaints)")
        #expect(graphs.undocumented.isEmpty, "without a documentation comment: \(graphs.undocumented)")
        #expect(graphs.topLevelNames.count > 100)
        let topics = try Self.topics()
        let missing = graphs.topLevelNames.subtracting(topics)
        #expect(missing.isEmpty, "in no topic of the catalogue: \(missing.sorted())")
    }

    @Test func `a link that leads nowhere is complained of`() throws {
        let toolchain = try Toolchain()
        let complaints = try toolchain.withFolder { folder in
            let catalogue = folder.appending(path: "Wrong.docc")
            try FileManager.default.createDirectory(at: catalogue, withIntermediateDirectories: true)
            try "# Wrong\n\nSee ``NoSuchThing``.\n"
                .write(to: catalogue.appending(path: "Wrong.md"), atomically: false, encoding: .utf8)
            return try build(catalogue).complaints
        }
        #expect(complaints.contains("NoSuchThing"), "\(complaints)")
    }

    /// The names that the pages list: `- ``Name`` `.
    private static func topics() throws -> Set<String> {
        var names: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: catalogue.path) where file.hasSuffix(".md") {
            let text = try String(contentsOf: catalogue.appending(path: file), encoding: .utf8)
            for line in text.split(separator: "\n") where line.hasPrefix("- ``") && line.hasSuffix("``") {
                names.insert(String(line.dropFirst(4).dropLast(2)))
            }
        }
        return names
    }
}
