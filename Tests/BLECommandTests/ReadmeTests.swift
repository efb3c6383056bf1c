import Foundation
import Testing

/// What the README shows of the command is what the command prints.
@Suite(.timeLimit(.minutes(10))) struct ReadmeTests {
    /// A command of the README and the lines below it.
    struct Example {
        var arguments: [String]
        var lines: [String] = []
    }

    static func examples() throws -> [Example] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        var examples: [Example] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("$ swift run ble ") {
                examples.append(Example(arguments: line.split(separator: " ").dropFirst(4).map(String.init)))
                isInside = true
            } else if line.hasPrefix("```") {
                isInside = false
            } else if isInside, line != "…" {
                examples[examples.count - 1].lines.append(String(line))
            }
        }
        return examples
    }

    @Test func `each example prints what stands below it`() async throws {
        let examples = try Self.examples()
        #expect(examples.map(\.arguments.first) == ["scan", "info", "notify"])
        for example in examples {
            let run = try await CommandRun(example.arguments, simulated: false).end()
            #expect(run.status == 0)
            let printed = Set(run.output.map(Self.constant))
            for line in example.lines { #expect(printed.contains(Self.constant(line)), "\(line)") }
        }
    }

    @Test func `what stands below Transfer is what it prints`() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("This is a simulation. ") }
            .prefix { !$0.hasPrefix("```") }
            .map(String.init)
        let run = try await CommandRun(["--simulated"], simulated: false, of: "Transfer").end()
        #expect(run.status == 0 && lines.count > 4)
        for line in lines where line != "…" { #expect(run.output.contains(line), "\(line) in \(run.output)") }
    }

    /// The line without what differs from run to run: signal strengths, values and times.
    static func constant(_ line: String) -> String {
        line.replacing(/-\d+ dBm/, with: "dBm").replacing(/"(value|text|time)":"[^"]*"/) { "\"\($0.output.1)\"" }
            .replacing(/"beatsPerMinute":\d+/, with: "beatsPerMinute")
    }
}
