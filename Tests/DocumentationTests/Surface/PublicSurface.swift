import Foundation

/// What an import shows: the public declarations of a product's modules, as the toolchain's symbol graph has them.
struct PublicSurface {
    /// A declaration a line, sorted: the module, the names that lead to it, and how it is declared.
    let lines: [String]
    /// How many of them are types (protocols and aliases too) that stand in nothing else.
    let topLevelTypes: Int
    /// How many of them implement a requirement of the standard library's protocols, or of a result builder: nobody has
    /// to learn their names.
    let standardRequirements: Int

    /// - Parameter modules: what the import shows, with the modules that it exports again.
    init(of modules: [String]) throws {
        let symbols = try modules.flatMap { module in try SymbolGraph.symbols(of: module).map { (module, $0) } }
        lines = symbols.map { module, symbol in "\(module).\(symbol.path): \(symbol.declaration)" }.sorted()
        topLevelTypes = symbols.count { $0.1.isTopLevelType }
        standardRequirements = symbols.count { $0.1.isStandardRequirement }
    }
}

/// The toolchain's list of a module's symbols.
private struct SymbolGraph: Decodable {
    struct Symbol: Decodable {
        struct Kind: Decodable { var identifier: String }
        struct Fragment: Decodable { var spelling: String }

        var kind: Kind
        var pathComponents: [String]
        var declarationFragments: [Fragment]

        var path: String { pathComponents.joined(separator: ".") }
        /// On one line.
        var declaration: String {
            declarationFragments.map(\.spelling).joined().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        var isTopLevelType: Bool {
            let types: Set<String> = ["struct", "enum", "class", "protocol", "typealias"]
            return pathComponents.count == 1 && types.contains(String(kind.identifier.dropFirst("swift.".count)))
        }
        /// By its name, and for a name that may be a type's own by its type.
        var isStandardRequirement: Bool {
            guard pathComponents.count > 1, let name = pathComponents.last else { return false }
            return Self.standardRequirements.contains(name)
                || name == "description" && declaration.contains("description: String")
                || name.hasPrefix("build") && declaration.contains("static func")
        }
        private static let standardRequirements: Set<String> = [
            "debugDescription", "customMirror", "==(_:_:)", "<(_:_:)", "hash(into:)", "rawValue", "init(rawValue:)",
            "init(integerLiteral:)", "Failure", "next()", "next(isolation:)", "makeAsyncIterator()", "makeIterator()",
            "startIndex", "endIndex", "subscript(_:)", "underestimatedCount",
        ]
    }

    var symbols: [Symbol]

    /// The public symbols of a module, those by which it extends other modules too.
    static func symbols(of module: String) throws -> [Symbol] {
        let toolchain = try Toolchain()
        return try toolchain.withFolder { folder in
            let complaints = try toolchain.extractSymbols(of: module, into: folder)
            guard complaints.isEmpty else { throw Toolchain.Failure(description: complaints) }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return try files.filter { $0.hasSuffix(".symbols.json") }.flatMap { name in
                try JSONDecoder().decode(Self.self, from: Data(contentsOf: folder.appending(path: name))).symbols
            }
        }
    }
}
