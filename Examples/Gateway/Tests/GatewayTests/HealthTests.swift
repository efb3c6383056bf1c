import Foundation
import Spool
import TestBroker
import Testing

@testable import Gateway

/// What the gateway says about itself.
@Suite struct HealthTests {
    @Test func `no counter falls when a record that was dropped in flight is acknowledged after all`() throws {
        let folder = try temporaryFolder("health")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool", limit: SpoolSettings.smallestLimit))
        let outbox = Outbox(spool, prefix: "p") { _ in }
        let health = Health(spool, outbox, Sessions(), Troubles { _ in }, nil, nil)
        for number: UInt8 in 1...3 { try spool.append([number]) }
        let first = try #require(try spool.next())
        #expect(try spool.next() != nil)
        // There is no room: the files of the oldest records go.
        for _ in 0..<400 { try spool.append([UInt8](repeating: 0, count: 200)) }
        let before = try RecordCounters(health)
        try spool.acknowledge(first.sequence)
        let after = try RecordCounters(health)
        #expect(before.dropped > 0 && after.dropped == before.dropped)
        #expect(after.acknowledged == before.acknowledged + 1)
        // The connection is lost, and with it the acknowledgement of the other one.
        spool.rewind()
        let last = try RecordCounters(health)
        #expect(last.dropped == before.dropped + 1 && last.acknowledged == after.acknowledged)
        #expect(before.addUp && after.addUp && last.addUp)
    }
}

/// What the page for Prometheus says of the records.
private struct RecordCounters {
    let appended: Int
    let acknowledged: Int
    let spooled: Int
    let dropped: Int

    var addUp: Bool { appended == acknowledged + spooled + dropped }

    init(_ health: Health) throws {
        let lines = health.text.split(separator: "\n")
        func count(_ name: String) throws -> Int {
            let line = try #require(lines.first { $0.hasPrefix("gateway_records_\(name) ") })
            return try #require(Int(line.dropFirst("gateway_records_\(name) ".count)))
        }
        appended = try count("total")
        acknowledged = try count("acknowledged_total")
        spooled = try count("spooled")
        dropped = try count("dropped_total")
    }
}
