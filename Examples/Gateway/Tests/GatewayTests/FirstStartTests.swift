import BLEStreams
import Foundation
import Synchronization
import TestBroker
import Testing

@testable import Gateway

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

    /// What a person was told.
    private final class Report: Sendable {
        let lines = Mutex<[String]>([])

        /// What was told since the last time.
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    @Test func `each part that is new is told of by the start that makes it, though a later part fails`() throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = "\(folder)/spool"
        var configuration = Configuration(spool: .init(folder: spool))
        configuration.sparkplug = .init(group: "plant", node: "hall")
        configuration.leases = .init()
        let report = Report()
        let start = { [configuration] in
            _ = try GatewayRun(configuration, .default) { line in report.lines.withLock { $0.append(line) } }
        }
        let (births, leases) = ("\(spool).sparkplug.bdSeq", "\(spool).leases")
        try DurableFile.write(Array("x".utf8), to: births)
        #expect(throws: BirthNumber.NumberError.self) { try start() }
        let first = report.take()
        #expect(first.count == 1 && first.first?.contains("in \(spool), so") == true, "\(first)")
        try FileManager.default.removeItem(atPath: births)
        try DurableFile.write(Array("x".utf8), to: leases)
        #expect(throws: EpochStore.StoreError.self) { try start() }
        let second = report.take()
        #expect(second.count == 1 && second.first?.contains("in \(spool).sparkplug, so") == true, "\(second)")
        try FileManager.default.removeItem(atPath: leases)
        try start()
        let third = report.take()
        #expect(third.count == 1 && third.first?.contains("in \(spool).leases, so") == true, "\(third)")
        try start()
        #expect(report.take() == [])
    }
}
