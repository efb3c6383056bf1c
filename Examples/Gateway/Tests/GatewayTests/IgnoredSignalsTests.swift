import Foundation
import TestBroker
import Testing

/// Signals that whoever started the program has had ignored.
@Suite(.timeLimit(.minutes(10))) struct IgnoredSignalsTests {
    /// Whether a process ignores a signal, as the kernel tells in its state.
    private func ignores(_ number: Int32, _ process: Int32) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
        let signals = try #require(UInt64(line.dropFirst(7).filter(\.isHexDigit), radix: 16))
        return signals >> UInt64(number - 1) & 1 == 1
    }

    /// The name of each signal in a shell, and another one that ends the program.
    @Test(arguments: [("HUP", SIGHUP, SIGTERM), ("INT", SIGINT, SIGTERM), ("TERM", SIGTERM, SIGINT)])
    func `a signal that is ignored at the start stays ignored`(
        _ name: String,
        _ ignored: Int32,
        _ other: Int32
    ) async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Nobody listens at this port.
        let text = """
            { "broker": { "host": "127.0.0.1", "port": 1 }, "spool": { "folder": "\(folder)/spool" } }
            """
        try text.write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let script = "trap '' \(name); exec \"$0\" --simulated \"$1\""
        let gateway = try RunningProgram("/bin/sh", ["-c", script, gatewayProgram, "\(folder)/gateway.json"])
        // By then it handles signals.
        try await gateway.wait { $0.contains("Next attempt in") }
        #expect(try ignores(ignored, gateway.number))
        #expect(try !ignores(other, gateway.number))
        gateway.signal(ignored)
        #expect(await gateway.end(other) == 0)
        #expect(!gateway.lines.contains { $0.contains("configuration:") })
    }
}
