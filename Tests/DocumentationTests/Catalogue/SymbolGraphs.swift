import Foundation

/// The toolchain's descriptions of the package's modules, put together as one module.
///
/// `import BLEStreams` shows the values of BLEProtocol, too. DocC finds `BLEError` in a comment of BLEStreams only
/// where both are in the same module, so a reader sees one module with everything, and the pages of a product say what
/// to import.
struct SymbolGraphs {
    /// A public declaration that has no documentation comment.
    var undocumented: [String] = []
    /// The public declarations that stand in nothing else.
    var topLevelNames: Set<String> = []

    static let modules = ["BLEProtocol", "BLERadio", "BLEStreams", "BLEDevices", "BLESimulator"]

    private typealias Graph = [String: Any]

    /// Writes the graphs into a folder, for DocC.
    init(writingTo folder: URL, with toolchain: Toolchain) throws {
        var whole: Graph = [:]
        for module in Self.modules {
            for graph in try Self.graphs(of: module, with: toolchain) where graph.extended != "Swift" {
                whole = try Self.joined(whole, graph.content)
            }
        }
        // What extends the standard library stands on pages of its own, which needs another kind of description.
        for graph in try Self.graphs(of: "BLEStreams", with: toolchain, ["-emit-extension-block-symbols"])
        where graph.extended == "Swift" {
            let octets = try JSONSerialization.data(withJSONObject: graph.content)
            try octets.write(to: folder.appending(path: "BLEStreams@Swift.symbols.json"))
        }
        try read(whole)
        let octets = try JSONSerialization.data(withJSONObject: whole)
        try octets.write(to: folder.appending(path: "BLEStreams.symbols.json"))
    }

    private mutating func read(_ graph: Graph) throws {
        for symbol in graph["symbols"] as? [Graph] ?? [] {
            guard let path = symbol["pathComponents"] as? [String] else { throw Unreadable() }
            if symbol["docComment"] == nil { undocumented.append(path.joined(separator: ".")) }
            if path.count == 1 { topLevelNames.insert(path[0]) }
        }
    }

    private static func joined(_ whole: Graph, _ part: Graph) throws -> Graph {
        guard !whole.isEmpty else { return try named("BLEStreams", part) }
        var whole = whole
        for key in ["symbols", "relationships"] {
            guard let old = whole[key] as? [Any], let new = part[key] as? [Any] else { throw Unreadable() }
            whole[key] = old + new
        }
        return whole
    }

    private static func named(_ name: String, _ graph: Graph) throws -> Graph {
        guard var module = graph["module"] as? Graph else { throw Unreadable() }
        module["name"] = name
        return graph.merging(["module": module]) { $1 }
    }

    private static func graphs(
        of module: String,
        with toolchain: Toolchain,
        _ options: [String] = []
    ) throws -> [(extended: String?, content: Graph)] {
        try toolchain.withFolder { folder in
            let complaints = try toolchain.extractSymbols(of: module, into: folder, options)
            guard complaints.isEmpty else { throw Toolchain.Failure(description: complaints) }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return try files.filter { $0.hasSuffix(".symbols.json") }.sorted().map { name in
                let octets = try Data(contentsOf: folder.appending(path: name))
                guard let graph = try JSONSerialization.jsonObject(with: octets) as? Graph else { throw Unreadable() }
                let extended = name.dropLast(".symbols.json".count).split(separator: "@").dropFirst().first
                return (extended.map { String($0) }, graph)
            }
        }
    }

    private struct Unreadable: Error {}
}
