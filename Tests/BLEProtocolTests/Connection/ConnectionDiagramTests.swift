import BLEProtocol
import Foundation
import Testing

/// The documentation shows the table as it is.
@Suite struct ConnectionDiagramTests {
    private static let article = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/BLEStreams/BLEStreams.docc/ConnectionStates.md")

    @Test func `the diagram and the table in the documentation are those of the rules`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        var expected = text
        try Self.replace("diagram", in: &expected, by: "```mermaid\n\(ConnectionMachine.diagram)```")
        try Self.replace("table", in: &expected, by: ConnectionMachine.markdownTable)
        if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTATION"] != nil {
            try expected.write(to: Self.article, atomically: true, encoding: .utf8)
            return
        }
        #expect(text == expected, "make it anew: UPDATE_DOCUMENTATION=1 swift test --filter ConnectionDiagramTests")
    }

    @Test func `the diagram has every state, and an arrow for every pair that the table connects`() {
        let diagram = ConnectionMachine.diagram
        for state in SessionState.Kind.allCases { #expect(diagram.contains("\(state)")) }
        for rule in ConnectionMachine.rules {
            let arrows = ["\(rule.from) --> \(rule.to) :", "\(rule.from.phase) --> \(rule.to) :"]
            let lines = diagram.split(separator: "\n")
                .filter { line in arrows.contains { line.contains($0) } && line.contains("\(rule.trigger)") }
            #expect(!lines.isEmpty, "\(rule)")
        }
    }

    private static func replace(_ name: String, in text: inout String, by content: String) throws {
        let start = try #require(text.range(of: "<!-- \(name) -->\n")?.upperBound)
        let end = try #require(text.range(of: "<!-- /\(name) -->")?.lowerBound)
        text.replaceSubrange(start..<end, with: content.hasSuffix("\n") ? content : content + "\n")
    }
}
