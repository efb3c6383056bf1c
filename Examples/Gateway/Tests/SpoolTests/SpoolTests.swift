import Foundation
import Synchronization
import Testing

@testable import Spool

@Suite("A spool")
struct SpoolTests {
    @Test("uses CRC-32C")
    func checksum() {
        // Source: RFC 3720, appendix B.4, and the check value of the catalogue of parametrised CRC algorithms.
        #expect(CRC32C.checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    }

    @Test("hands out records in order, and each once")
    func order() throws {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        for number in 0..<100 { try spool.append(Array("\(number)".utf8)) }
        let records = try spool.drain()
        #expect(records.map { String(decoding: $0.payload, as: UTF8.self) } == (0..<100).map { "\($0)" })
        #expect(records.map(\.sequence) == Array(1...100))
        #expect(!records.contains { $0.isRedelivered })
        #expect(spool.counts.acknowledged == 100)
        #expect(spool.counts.addUp)
    }

    @Test("marks what it hands out again after the connection or the process was lost, and nothing else")
    func redelivery() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...10 { try spool.append([UInt8(number)]) }
            for _ in 1...3 { _ = try spool.next() }
            try spool.acknowledge(1)
            spool.rewind()
            #expect(try spool.next() == SpoolRecord(sequence: 2, epoch: 1, isRedelivered: true, payload: [2]))
            #expect(try spool.next()?.isRedelivered == true)
            #expect(try spool.next()?.isRedelivered == false)
            try spool.close()
            #expect(throws: SpoolError.self) { try spool.append([1]) }
        }
        let spool = try folder.spool()
        try spool.append([11])
        let records = try spool.drain()
        #expect(records.map(\.sequence) == Array(2...11))
        #expect(records.filter(\.isRedelivered).map(\.sequence) == [2, 3, 4])
        #expect(records.last?.epoch == 2)
    }

    @Test("drops the oldest segment when it is full, and counts and reports to the record, also over restarts")
    func full() throws {
        let folder = try SpoolFolder()
        var appended = 0
        for _ in 1...5 {
            let spool = try folder.spool()
            for _ in 0..<300 {
                try spool.append([UInt8](repeating: UInt8(appended % 251), count: 200))
                appended += 1
            }
            #expect(spool.counts.octets <= SpoolSettings.smallestLimit)
            #expect(spool.counts.appended == appended)
            #expect(spool.counts.addUp)
        }
        let spool = try folder.spool()
        let (records, losses) = (try spool.drain(), try spool.losses())
        #expect(records.count + losses.reduce(0) { $0 + $1.count } == appended)
        #expect(losses.map(\.first) == [1])
        #expect(losses.last.map { $0.last + 1 } == records.first?.sequence)
        for record in records { #expect(record.payload.first == UInt8((record.sequence - 1) % 251)) }
        #expect(spool.counts.dropped == losses.reduce(0) { $0 + $1.count })
        #expect(spool.counts.acknowledged == records.count)
    }

    @Test("counts a record as acknowledged if the acknowledgement comes after the record was dropped")
    func late() throws {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        try spool.append([1])
        try spool.append([2])
        _ = try spool.next()
        _ = try spool.next()
        for _ in 0..<400 { try spool.append([UInt8](repeating: 0, count: 200)) }
        let dropped = spool.counts.dropped
        try spool.acknowledge(1)
        #expect(spool.counts.dropped == dropped - 1)
        #expect(spool.counts.acknowledged == 1)
        #expect(spool.counts.addUp)
        spool.rewind()
        let losses = try spool.losses()
        #expect(losses.reduce(0) { $0 + $1.count } == spool.counts.dropped)
        #expect(losses.contains { $0.first == 2 })
    }

    @Test("counts what a full disk has no room for, and goes on when there is room again")
    func diskFull() throws {
        let folder = try SpoolFolder()
        let isFull = Mutex(false)
        let disk = Self.disk { isFull.withLock { $0 } }
        var stored: [UInt64] = []
        for round in 0..<3 {
            let spool = try Spool(folder.settings(), disk)
            for number in 0..<30 {
                isFull.withLock { $0 = number % 10 >= 7 }
                do {
                    stored.append(try spool.append([UInt8](repeating: UInt8(number), count: 100)))
                } catch {
                    #expect(error.code == .diskFull)
                    #expect(error.remedy.contains("space"))
                }
            }
            isFull.withLock { $0 = false }
            #expect(spool.counts.refused == 9 * (round + 1))
            #expect(spool.counts.addUp)
        }
        let spool = try Spool(folder.settings(), disk)
        #expect(spool.counts.appended == 90)
        #expect(spool.counts.dropped == 27)
        #expect(spool.counts.spooled == 63)
        #expect(try spool.drain().map(\.sequence) == stored)
        let lost = try spool.losses().flatMap { Array($0.first...$0.last) }
        #expect(Set(lost).isDisjoint(with: stored))
        #expect(lost.count == 27)
        #expect(spool.counts.acknowledged == 63)
    }

    /// A disk that is full at times.
    private static func disk(_ isFull: @escaping @Sendable () -> Bool) -> Disk {
        var disk = Disk()
        disk.synchronise = { _ in 0 }
        disk.write = { file, octets, offset in
            // The place of the position exists already; a full disk writes a part of a record.
            let isNew = offset + octets.count > 2 * 4096 || octets.count != Position.size
            guard isFull(), isNew else {
                return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
            }
            if octets.count > 20 { return pwrite(file, octets.baseAddress, 10, off_t(offset)) }
            errno = ENOSPC
            return -1
        }
        return disk
    }

    @Test("reports exactly the records of a damaged file")
    func damage() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 0..<200 { try spool.append([UInt8](repeating: UInt8(number), count: 200)) }
        }
        #expect(folder.segments.count == 3)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.segments[1]))
        try file.seek(toOffset: UInt64(Segment.headerSize + 208 * 10 + 50))
        try file.write(contentsOf: [0xFF])
        try file.close()
        let spool = try folder.spool()
        let (records, losses) = (try spool.drain(), try spool.losses())
        let loss = try #require(losses.first)
        #expect(losses.count == 1)
        #expect(records.count + loss.count == 200)
        #expect(!records.contains { loss.first...loss.last ~= $0.sequence })
        #expect(spool.counts.addUp)
        #expect(spool.counts.dropped == loss.count)
    }

    @Test("reports the records of a file that was removed while it is open, and goes on behind them")
    func removed() throws {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        for number in 0..<200 { try spool.append([UInt8](repeating: UInt8(number), count: 200)) }
        #expect(folder.segments.count == 3)
        for _ in 0..<10 { _ = try spool.next() }
        try spool.acknowledge(1)
        for file in [folder.segments[0], folder.segments[2]] { try FileManager.default.removeItem(atPath: file) }
        // The connection is lost.
        spool.rewind()
        let (records, losses) = (try spool.drain(), try spool.losses())
        #expect(losses.first?.first == 2 && losses.last?.last == 200)
        #expect(losses.reduce(0) { $0 + $1.count } + records.count + 1 == 200)
        #expect(try spool.append([1]) == 201)
        #expect(try spool.drain().map(\.sequence) == [201])
        #expect(spool.counts.spooled == 0 && spool.counts.addUp)
    }

    @Test("is for one program at a time")
    func inUse() throws {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        let error = #expect(throws: SpoolError.self) { try folder.spool() }
        #expect(error?.code == .inUse)
        try spool.close()
    }

    @Test("refuses a record that is too large, and counts it")
    func tooLarge() throws {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        let error = #expect(throws: SpoolError.self) {
            try spool.append([UInt8](repeating: 0, count: Spool.largestRecord + 1))
        }
        #expect(error?.code == .recordTooLarge)
        #expect(spool.counts.appended == 1 && spool.counts.dropped == 1 && spool.counts.refused == 1)
    }
}
