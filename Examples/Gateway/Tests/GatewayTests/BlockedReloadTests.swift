import Foundation
import TestBroker
import Testing

/// A configuration that is to be read again, and can't be read to its end.
@Suite(.timeLimit(.minutes(5))) struct BlockedReloadTests {
    @Test func `the program can be ended while its configuration is being read`() async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/gateway.json"
        // Nobody listens at this port.
        let text = """
            { "broker": { "host": "127.0.0.1", "port": 1 }, "spool": { "folder": "\(folder)/spool" } }
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let gateway = try RunningProgram(gatewayProgram, ["--simulated", file])
        // By then it handles signals.
        try await gateway.wait { $0.contains("Next attempt in") }
        // A pipe that is written by nobody is as good as a disk that doesn't answer.
        try FileManager.default.removeItem(atPath: file)
        try #require(mkfifo(file, 0o600) == 0)
        gateway.signal(SIGHUP)
        var writer: Int32 = -1
        // That succeeds as soon as the program has opened it, and reads.
        while writer < 0, !Task.isCancelled {
            writer = open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            await Task.yield()
        }
        defer { close(writer) }
        #expect(await gateway.end(SIGTERM) == 0)
    }
}
