import BLEProtocol
import Foundation
import Testing

/// The documentation shows the table as it is.
@Suite struct ConnectionDiagramTests {
    private static let catalogue = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../../Sources/BLEStreams/BLEStreams.docc").standardized

    @Test func `the picture and the table in the documentation are those of the rules`() throws {
        let article = Self.catalogue.appending(path: "ConnectionStates.md")
        let picture = Self.catalogue.appending(path: "Resources/states.svg")
        let text = try String(contentsOf: article, encoding: .utf8)
        var expected = text
        try Self.replace("table", in: &expected, by: ConnectionMachine.markdownTable)
        if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTATION"] != nil {
            try expected.write(to: article, atomically: true, encoding: .utf8)
            try StatePicture.text.write(to: picture, atomically: true, encoding: .utf8)
            return
        }
        let how = "make it anew: UPDATE_DOCUMENTATION=1 swift test --filter ConnectionDiagramTests"
        #expect(text == expected, "\(how)")
        #expect(try String(contentsOf: picture, encoding: .utf8) == StatePicture.text, "\(how)")
    }

    @Test func `the picture has every state twice, and a dot for every pair that the table connects`() {
        let picture = StatePicture.text
        for state in SessionState.Kind.allCases { #expect(picture.components(separatedBy: ">\(state)<").count == 3) }
        let pairs = Set(ConnectionMachine.rules.map { "\($0.from) \($0.to)" })
        #expect(picture.components(separatedBy: "<circle class").count - 1 == pairs.count)
    }

    private static func replace(_ name: String, in text: inout String, by content: String) throws {
        let start = try #require(text.range(of: "<!-- \(name) -->\n")?.upperBound)
        let end = try #require(text.range(of: "<!-- /\(name) -->")?.lowerBound)
        text.replaceSubrange(start..<end, with: content.hasSuffix("\n") ? content : content + "\n")
    }
}
