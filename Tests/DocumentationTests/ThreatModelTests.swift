import Foundation
import Testing

/// Each attack that the page about threats tells of is shown by tests, which are there by the names that it gives.
struct ThreatModelTests {
    private static let page = "Sources/BLEStreams/BLEStreams.docc/ThreatModel.md"

    /// The sections of the page about one attack each, by their headings.
    private func attacks() throws -> [String: String] {
        let text = try String(contentsOf: Package.folder.appending(path: Self.page), encoding: .utf8)
        var attacks: [String: String] = [:]
        var heading: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") { heading = line.hasPrefix("### ") ? String(line.dropFirst(4)) : nil }
            if let heading { attacks[heading, default: ""] += " " + line.drop { $0 == " " } }
        }
        return attacks
    }

    /// The names of tests behind `Shown by:`.
    private func names(in section: String) -> [String] {
        guard let list = section.range(of: "Shown by:") else { return [] }
        let words = section[list.upperBound...].split(separator: "`", omittingEmptySubsequences: false)
        return words.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// All tests, in Swift and in Python, as they are declared.
    private func declarations() throws -> Set<String> {
        var found: Set<String> = []
        let tests = Package.folder.appending(path: "Tests")
        let files = FileManager.default.enumerator(atPath: tests.path)
        for case let path as String in files ?? .init() where path.hasSuffix(".swift") || path.hasSuffix(".py") {
            let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
            for line in text.split(separator: "\n") {
                if let name = line.firstMatch(of: /func `([^`]+)`/)?.1 ?? line.firstMatch(of: /^def (test_\w+)\(/)?.1 {
                    found.insert(String(name))
                }
            }
        }
        return found
    }

    @Test func `every attack is shown by tests that exist`() throws {
        let (attacks, tests) = (try attacks(), try declarations())
        #expect(attacks.count > 12 && tests.count > 1000)
        for (heading, section) in attacks {
            let names = names(in: section)
            #expect(!names.isEmpty, "\(heading) is shown by nothing")
            // Said in words alone: an expectation of the set would print all of it.
            for name in names where !tests.contains(name) { Issue.record("\(heading): there is no test `\(name)`") }
        }
    }
}
