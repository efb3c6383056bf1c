import Dispatch
import Foundation
import Glibc
import MQTT
import Synchronization
import TestBroker
import Testing

@testable import Gateway
@testable import Spool

@Suite("An error that lasts")
final class LastingErrorTests: Sendable {
    private let reports = Mutex<[String]>([])

    /// A disk whose writes fail while the closure says so.
    private static func disk(failingWith error: Int32, while isFailing: @escaping @Sendable () -> Bool) -> Disk {
        var disk = Disk()
        let write = disk.write
        disk.write = { file, octets, offset in
            guard isFailing() else { return write(file, octets, offset) }
            errno = error
            return -1
        }
        return disk
    }

    @Test("is told once if it is of the disk, and again when the disk has worked meanwhile")
    func disk() throws {
        let isBroken = Mutex(false)
        let disk = Self.disk(failingWith: EROFS) { isBroken.withLock { $0 } }
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")), disk)
        let outbox = Outbox(spool, prefix: "p") { [self] line in reports.withLock { $0.append(line) } }
        for _ in 0..<500 { try spool.append(Entry(topic: "p/v", members: .object([])).encoded) }
        outbox.connected()
        let tokens = (0..<200).compactMap { _ in outbox.next()?.token }
        #expect(tokens.count == 200)
        isBroken.withLock { $0 = true }
        for token in tokens[..<100] { outbox.acknowledged(token) }
        #expect(reports.withLock { $0.count } == 1)
        isBroken.withLock { $0 = false }
        outbox.acknowledged(tokens[100])
        isBroken.withLock { $0 = true }
        for token in tokens[101...] { outbox.acknowledged(token) }
        #expect(reports.withLock { $0.count } == 2)
    }

    @Test("is told once if the disk is full, though what is acknowledged makes room for some records in between")
    func fullDisk() throws {
        let isFull = Mutex(false)
        var disk = Self.disk(failingWith: ENOSPC) { isFull.withLock { $0 } }
        disk.synchronise = { _ in 0 }
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")), disk)
        let publisher = Publisher(spool, prefix: "p") { [self] line in reports.withLock { $0.append(line) } }
        for number in 0..<1000 {
            isFull.withLock { $0 = number % 100 >= 50 }
            publisher.publish("value/a/2A6E", .object([]))
        }
        #expect(spool.counts.refused == 500)
        #expect(reports.withLock { $0.count } == 1)
    }

    @Test("is told once for each of two reasons that take turns, as of a disk that fails")
    func refusalsInTurns() {
        let errors = [SpoolError("write", "1", errno: ENOSPC), SpoolError("open", "2", errno: EROFS)]
        var refused = RefusedRecords()
        let news = (0..<1000).compactMap { refused.news(errors[$0 % 2]) }
        #expect(news == errors.map { "\($0)" })
    }

    @Test("is told once if the disk is full and there is a record an hour, and again if there was room meanwhile")
    func rareRecords() {
        let full = SpoolError("write", "1", errno: ENOSPC)
        let start = ContinuousClock.now
        var refused = RefusedRecords()
        #expect(refused.news(full, at: start) == "\(full)")
        let news = (1...1000).compactMap { refused.news(full, at: start + .seconds(3600 * $0)) }
        #expect(news == [])
        let last = start + .seconds(3_600_000)
        refused.stored(at: last + .seconds(599))
        #expect(refused.news(full, at: last + .seconds(600)) == nil)
        refused.stored(at: last + .seconds(1200))
        #expect(refused.news(full, at: last + .seconds(1201)) == "\(full)")
    }

    /// Calls the closure five times while the file can't be written, then when it can, and again when it can't.
    private func failing(_ file: String, _ store: () -> Void) throws {
        // What is in the way of the new file is as good as a full disk.
        let obstacle = file + ".new"
        for isBroken in [true, true, true, true, true, false, true] {
            if isBroken {
                try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
            } else {
                try FileManager.default.removeItem(atPath: obstacle)
            }
            store()
        }
    }

    @Test("is told once if it is of the number of an edge node, which each attempt to connect stores")
    func births() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try SparkplugDriver(
            .init(group: "plant", node: "hall"),
            beside: .init(folder: "\(folder)/spool", megabytes: 1),
            report: { [self] line in reports.withLock { $0.append(line) } }
        )
        try failing("\(folder)/spool.sparkplug.bdSeq") { _ = driver.will() }
        #expect(reports.withLock { $0.count } == 2)
        #expect(reports.withLock { $0.allSatisfy { $0.hasPrefix("sparkplug: \(folder)/spool.sparkplug.bdSeq") } })
    }

    @Test("is told once if it is of the reservation of the leases, which is tried again and again")
    func reservations() throws {
        let folder = try temporaryFolder("leases")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try LeaseDriver(Configuration.Sharing(), spool: "\(folder)/spool") { [self] line in
            reports.withLock { $0.append(line) }
        }
        try failing("\(folder)/spool.leases") {
            driver.finish(LeaseDriver.Aftermath(store: 1024))
            driver.disk.sync {}
        }
        #expect(reports.withLock { $0.count } == 2)
        #expect(reports.withLock { $0.allSatisfy { $0.hasPrefix("leases: \(folder)/spool.leases") } })
    }
}
