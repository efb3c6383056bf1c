import Foundation
import Testing

/// No operator is left out: of the contract's checks, or of the guide.
@Suite struct OperatorListTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The names of what makes a stream of a stream, or of a sequence of streams, on the list of the public surface.
    private static func publicOperators() throws -> Set<String> {
        let declarations = try text("Tests/DocumentationTests/Surface/BLEStreams.txt").split(separator: "\n")
            .compactMap { $0.wholeMatch(of: #/BLEStreams\.(?:BLEStream|Sequence)\.(\S+): (func|var) (.*)/#) }
        let operators = declarations.filter { declaration in
            let result = declaration.3.split(separator: declaration.2 == "func" ? " -> " : ": ").last ?? ""
            return result.hasPrefix("BLEStream<") && !result.hasSuffix(".Iterator")
        }
        return Set(operators.map { String($0.1) })
    }

    @Test func `every operator of the public surface is on the list, and nothing else`() throws {
        let listed = OperatorCase.all.map(\.symbol)
        #expect(listed.count == Set(listed).count)
        let operators = try Self.publicOperators()
        #expect(operators.subtracting(listed).isEmpty, "add them to OperatorCase+All.swift")
        #expect(Set(listed).subtracting(operators).isEmpty, "no operator of the public surface has this name")
    }

    @Test func `an operator keeps the contract, or the list says why that can't be checked`() {
        for listed in OperatorCase.all {
            #expect(listed.calls.isEmpty == (listed.exemption != nil), "\(listed.symbol)")
        }
    }

    @Test func `an operator has a picture, unless the contract can't be checked for it either`() {
        for listed in OperatorCase.all where listed.exemption == nil {
            #expect(!listed.pictures.isEmpty, "\(listed.symbol)")
        }
    }

    @Test func `the guide has every operator`() throws {
        let guide = try Self.text("Sources/BLEStreams/BLEStreams.docc/Operators.md")
        for listed in OperatorCase.all {
            #expect(guide.contains("/\(listed.symbol)``"), "\(listed.symbol) is not linked in Operators.md")
        }
    }
}
