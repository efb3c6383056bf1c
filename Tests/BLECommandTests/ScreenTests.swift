import ConsoleOutput
import Foundation
import Testing

@testable import ble

/// What each subcommand shows at terminals of several widths.
@Suite(.timeLimit(.minutes(10))) struct ScreenTests {
    /// One call, and when it is interrupted where it doesn't end by itself.
    struct Screen: CustomTestStringConvertible, Sendable {
        var arguments: [String]
        var isSimulated = true
        var end: String?
        var input = ""

        var testDescription: String { arguments.joined(separator: " ") }

        init(_ arguments: String..., real: Bool = false, end: String? = nil, input: String = "") {
            (self.arguments, isSimulated, self.end, self.input) = (arguments, !real, end, input)
        }
    }

    static let widths: [UInt16] = [40, 80, 120]

    static let simulated = [
        Screen("scan", "--timeout", "1"), Screen("scan", "--lines", "--count", "5", "--timeout", "20"),
        Screen("info", Demo.values), Screen("info", Demo.update), Screen("info", Demo.absent, "--timeout", "1.2"),
        Screen("link", Demo.heartRate, "--count", "1", "-v"),
        Screen("read", Demo.heartRate, "2A38"), Screen("read", Demo.values, Demo.long),
        Screen("read", Demo.values, Demo.unknown), Screen("write", Demo.values, Demo.short, "00", "-v"),
        Screen("notify", Demo.heartRate, Demo.measurement, "--count", "2"),
        Screen("notify", Demo.trouble, Demo.fickle), Screen("notify", Demo.trouble, Demo.torn),
        Screen("notify", Demo.heartRate, Demo.measurement, "--count", "4", "--plot"),
        Screen("notify", Demo.heartRate, Demo.values, "2A05", "--timeout", "1", "--plot"),
        Screen("notify", Demo.heartRate, Demo.trouble, Demo.measurement, "--count", "9", "--plot", "--reconnect", "-v"),
        Screen("transfer", Demo.transfer, Demo.message, "--output", "/dev/null/message"),
        Screen("transfer", Demo.trouble, Demo.torn),
        Screen("update", Demo.update, "/bin/true", "--plain", "--model", "7"), Screen("update", Demo.update, "/none"),
        Screen("shell", Demo.values, input: "help\nread 2A00\nread --help\nread 2A99\nwrite\n"),
        Screen("serve", end: "disconnected"), Screen("serve", "--profile", "echo", end: "subscribed"),
        Screen("verify", Demo.values), Screen("verify", Demo.trouble, "--timeout", "0.5"),
        Screen("advertise", "--name", "Beacon", "--eddystone-url", "https://example.org", end: "advertising"),
        Screen("proxy", "--listen", "127.0.0.1:0", end: "listening"),
        Screen("pair", Demo.values), Screen("unpair", Demo.values), Screen("bonds"),
        Screen("adapter"), Screen("adapter", "phys"), Screen("adapter", "privacy"), Screen("adapter", "off"),
    ]

    static let others =
        commands.map { Screen($0.name, "--help", real: true) } + [
            Screen("--help", real: true), Screen(real: true), Screen("help", real: true),
            Screen("doctor", "--adapter", "hci999", real: true), Screen("doctor"),
            Screen("scan", "--adapter", "hci999", real: true), Screen("scan", "--frequency", real: true),
            Screen("scan", "--s", "180D", real: true), Screen("read", Demo.heartRate, "heart rate", real: true),
            Screen("advertise", real: true), Screen("listen", real: true), Screen("scan", "--rssi", "loud", real: true),
        ]

    @Test(arguments: simulated + others, widths)
    func `no line is longer than the terminal is wide`(_ screen: Screen, _ columns: UInt16) async throws {
        let run = try await CommandRun(
            screen.arguments,
            simulated: screen.isSimulated,
            interruptedAt: screen.end,
            in: .output,
            columns: columns,
            input: screen.input
        ).end()
        #expect([0, 1, 2, 130].contains(run.status))
        #expect(!run.output.isEmpty || !run.errors.isEmpty)
        for line in Self.lines(run.output) + Self.lines(run.errors) {
            #expect(line.columns <= Int(columns), "\(line.columns): \(line)")
            #expect(!line.contains(/(Link|Central|Peripheral)\.\w+\(/), "a call of the library: \(line)")
            #expect(Self.isPlain(line), "\(line.debugDescription)")
        }
    }

    @Test func `each subcommand is looked at`() {
        let screens = (Self.simulated + Self.others).filter { !$0.arguments.contains("--help") }
        let seen = Set(screens.compactMap { $0.arguments.first })
        // What these print is for programs, or to be copied.
        let whole: Set = ["oob", "completions"]
        #expect(seen.union(whole).isSuperset(of: commands.map { $0.name }))
    }

    @Test(arguments: simulated + others)
    func `a pipe gets nothing that only a terminal obeys`(_ screen: Screen) async throws {
        let run = try await CommandRun(
            screen.arguments,
            simulated: screen.isSimulated,
            interruptedAt: screen.end,
            in: .output,
            input: screen.input
        ).end()
        #expect([0, 1, 2, 130].contains(run.status))
        #expect(!run.output.isEmpty || !run.errors.isEmpty)
        for line in run.output + run.errors { #expect(Self.isPlain(line), "\(line.debugDescription)") }
    }

    @Test(arguments: ["--help", "info", "help"]) func `a pipe gets whole lines`(_ word: String) async throws {
        let arguments = word == "info" ? [word, Demo.values] : word == "help" ? [word, "serve"] : [word]
        let run = try await CommandRun(arguments, simulated: word == "info").end()
        #expect(run.status == 0 && run.output.contains { $0.count > 100 })
    }

    @Test func `what is to be copied stays in one line`() async throws {
        for arguments in [["oob"], ["proxy", "--make-key"], ["read", Demo.values, Demo.long, "--raw"]] {
            let run = try await CommandRun(arguments, columns: 40).end()
            #expect(run.status == 0 && run.output.count == 1 && run.output[0].count > 40)
        }
    }

    // MARK: - Octets that terminals obey

    private static let hostile = [
        "\u{1B}[2J\u{1B}]0;title\u{7}", "\u{9B}31mred", "\u{202E}drow\u{2066}x", "a\r\nb\tc",
        String(repeating: "温度計の名前", count: 5), "🌡️ sensor 🧪", String(repeating: "W", count: 248),
        "e" + String(repeating: "\u{301}", count: 60),
    ]

    @Test(arguments: hostile, widths) func `no word of a device moves the cursor, or leaves the width`(
        _ words: String,
        _ columns: UInt16
    ) async throws {
        try await withFolder { folder in
            let digits = Array(words.utf8).hexText
            try "17 \(digits)\n".write(to: folder.appending(path: "values"), atomically: true, encoding: .utf8)
            let simulation = ["--simulation", folder.path]
            for arguments in [
                ["info", Demo.values], ["read", Demo.values, Demo.short], ["read", Demo.values, Demo.short, "--text"],
                ["read", Demo.values, words],
                ["scan", "--name-prefix", words, "--lines", "--count", "1", "--timeout", "0.3"],
            ] {
                try await check(arguments + simulation, columns)
            }
            guard words.utf8.count <= 248, !words.contains("\u{0}") else { return }
            try await check(["serve", "--name", words] + simulation, columns, end: "serving")
        }
    }

    private func check(_ arguments: [String], _ columns: UInt16, end: String? = nil) async throws {
        let run = try await CommandRun(
            arguments,
            simulated: false,
            interruptedAt: end,
            in: .output,
            columns: columns
        ).end()
        #expect([0, 1, 2, 130].contains(run.status))
        #expect(!run.output.isEmpty || !run.errors.isEmpty)
        for line in run.output + run.errors {
            #expect(line.columns <= Int(columns), "\(line)")
            #expect(Self.isPlain(line), "\(line.debugDescription)")
        }
    }

    private static func isPlain(_ line: String) -> Bool { line.unicodeScalars.allSatisfy { $0.isPrintable } }

    /// The lines as they stand on the screen: without what the table and the bars move the cursor with.
    private static func lines(_ output: [String]) -> [String] {
        output.flatMap { line in
            line.replacing(/\x1B\[\d*[AHJK]/, with: "").split(separator: "\r").map(String.init)
        }
    }
}
