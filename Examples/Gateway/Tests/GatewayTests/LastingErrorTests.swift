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

    @Test("is told once if it is of the disk, and again when the disk has worked meanwhile")
    func disk() throws {
        let isBroken = Mutex(false)
        var disk = Disk()
        let write = disk.write
        disk.write = { file, octets, offset in
            guard isBroken.withLock({ $0 }) else { return write(file, octets, offset) }
            errno = EROFS
            return -1
        }
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
}
