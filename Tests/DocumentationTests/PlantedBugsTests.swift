import Foundation
import Testing

/// The list of bugs that `Tests/PlantedBugs/run` plants still fits the sources.
@Suite struct PlantedBugsTests {
    private struct Bug {
        var name: String
        var file: String
        var tests: String
        var hangs = false
        var old: String
        var new: String

        init(_ text: Substring) throws {
            let ends = try #require(text.firstRange(of: "\n---\n"))
            let middle = try #require(text.firstRange(of: "\n+++\n"))
            var head = text[..<ends.lowerBound].split(separator: "\n").map(String.init)
            if head.count == 5, head[3] == "hangs" {
                hangs = true
                head.remove(at: 3)
            }
            try #require(head.count == 4, "a bug has a name, a file, tests and a sentence: \(head)")
            (name, file, tests) = (head[0], String(head[1].dropFirst(6)), String(head[2].dropFirst(7)))
            old = String(text[ends.upperBound..<middle.lowerBound])
            new = text[middle.upperBound...].trimmingCharacters(in: .newlines)
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func bugs() throws -> [Bug] {
        let list = try text("Tests/PlantedBugs/bugs.txt")
        return try ("\n" + list).components(separatedBy: "\n== ").dropFirst().map { try Bug($0[...]) }
    }

    @Test func `each planted bug has one place to be planted, and changes something`() throws {
        let bugs = try Self.bugs()
        #expect(bugs.count >= 40 && Set(bugs.map(\.name)).count == bugs.count)
        for bug in bugs {
            let places = try Self.text(bug.file).components(separatedBy: bug.old).count - 1
            #expect(places == 1, "\(bug.name): its text is \(places) times in \(bug.file)")
            #expect(bug.old != bug.new, "\(bug.name)")
        }
    }

    @Test func `the tests that are expected to find a bug are there`() throws {
        let tests = Self.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        var suites: Set<String> = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            suites.insert(file.deletingPathExtension().lastPathComponent)
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /struct (\w+)/) {
                suites.insert(String(match.1))
            }
        }
        for bug in try Self.bugs() {
            for suite in bug.tests.split(separator: "|") {
                #expect(suites.contains(String(suite)), "\(bug.name): no suite is called \(suite)")
            }
        }
    }

    @Test(.enabled(if: ScriptRun.hasPython, "there is no python3"))
    func `no two bugs of a group share a folder or a suite, and at most one hangs`() throws {
        let bugs = Dictionary(uniqueKeysWithValues: try Self.bugs().map { ($0.name, $0) })
        let plan = try ScriptRun("Tests/PlantedBugs/run", ["--plan"])
        let groups = plan.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(plan.status == 0 && plan.started == [])
        #expect(groups.joined().sorted() == bugs.keys.sorted() && groups.allSatisfy { $0.count <= 14 })
        #expect(groups.count <= bugs.count / 8, "\(groups.count) builds for \(bugs.count) bugs")
        for group in groups {
            let members = try group.map { try #require(bugs[$0], "no bug is called \($0)") }
            let folders = members.map { $0.file.split(separator: "/").dropLast().joined(separator: "/") }
            #expect(Set(folders).count == members.count, "\(folders)")
            #expect(members.filter(\.hangs).count <= 1, "\(group)")
            for bug in members {
                // A filter selects each suite whose name contains it.
                let others = members.filter { $0.name != bug.name && $0.tests.contains(suitesOf: bug.tests) }
                #expect(others.isEmpty, "the tests of \(bug.name) run those of \(others.map(\.name)), too")
            }
        }
    }
}

extension String {
    /// Whether one of the names in a filter is a part of this one.
    fileprivate func contains(suitesOf filter: String) -> Bool {
        filter.split(separator: "|").contains { contains($0) }
    }
}
