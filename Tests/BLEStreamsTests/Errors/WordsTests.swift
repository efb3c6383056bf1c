import BLEProtocol
import BLEStreams
import Foundation
import Testing

/// How errors speak.
@Suite struct WordsTests {
    /// The lines of all sources that have a text in them, with where they stand.
    private static func texts(in folders: [String]) throws -> [(place: String, line: Substring)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        return try folders.flatMap { folder -> [(place: String, line: Substring)] in
            let all = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
            let files = try #require(all, "there is no folder \(folder)").compactMap { $0 as? String }
                .filter { $0.hasSuffix(".swift") }
            try #require(!files.isEmpty, "no sources in \(folder)")
            return try files.flatMap {
                file -> [(place: String, line: Substring)] in
                let text = try String(contentsOf: root.appending(path: "\(folder)/\(file)"), encoding: .utf8)
                return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                    .filter { $1.contains("\"") && !$1.drop(while: \.isWhitespace).hasPrefix("//") }
                    .map { (place: "\(folder)/\(file):\($0 + 1)", line: $1) }
            }
        }
    }

    @Test(arguments: ["Look whether", "look whether", "Look at ", "Look up ", "Look which", "has to be looked"])
    func `remedies are plain English`(words: String) throws {
        for text in try Self.texts(in: ["Sources", "Examples"]) {
            #expect(!text.line.contains(words), "\(text.place): \(text.line)")
        }
    }

    @Test func `errors of the library speak of its calls, not of the command`() throws {
        for text in try Self.texts(in: ["Sources"]) {
            for command in ["info", "pair", "unpair", "bonds", "notify", "scan", "read"] {
                #expect(!text.line.contains("`ble \(command)"), "\(text.place): \(text.line)")
                #expect(!text.line.contains("\\\"ble \(command)"), "\(text.place): \(text.line)")
            }
        }
    }

    @Test func `a cause that is a sentence gets no second full stop`() {
        let error = BLEError(.ended, operation: "session", cause: "the link ended.", remedy: "Try again.")
        #expect("\(error)" == "session: the link ended. Try again.")
    }

    @Test func `what ended a session is told without remedies in the middle, and without names of cases`() {
        let error = BLEError(.timedOut, operation: "scan", cause: "nothing was heard", remedy: "Move closer.")
        #expect("\(SessionState.Trigger.searchFailed(error))" == "search failed: nothing was heard")
        #expect("\(SessionState.Trigger.adapterLost(.poweredOff))" == "adapter lost: it is switched off")
    }
}
