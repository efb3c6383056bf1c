import Foundation
import TestBroker
import Testing

/// A start that finds nothing of an earlier one, which may be because a disk isn't mounted.
@Suite(.timeLimit(.minutes(10))) struct FirstStartTests {
    @Test func `the first start says what is new, and the next one doesn't`() async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Nobody listens at this port.
        let text = """
            { "broker": { "host": "127.0.0.1", "port": 1 }, "spool": { "folder": "\(folder)/spool" }, "leases": {},
              "sparkplug": { "group": "plant" } }
            """
        try text.write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        /// The lines about a first start.
        func news() async throws -> [String] {
            let gateway = try RunningProgram(gatewayProgram, ["--simulated", "\(folder)/gateway.json"])
            try await gateway.wait { $0.contains("Next attempt in") }
            #expect(await gateway.end(SIGTERM) == 0)
            return gateway.lines.filter { $0.contains("first start") }
        }
        let first = try await news()
        let spool = "\(folder)/spool"
        #expect(first.count == 1)
        #expect(first.first?.contains("\(spool), \(spool).sparkplug, \(spool).leases") == true)
        #expect(first.first?.contains("mounted") == true)
        #expect(try await news() == [])
        // The folder of the spool is the one that a disk is mounted at.
        try FileManager.default.moveItem(atPath: spool, toPath: "\(folder)/elsewhere")
        let later = try await news()
        #expect(later.first?.contains("in \(spool), so") == true)
    }
}
