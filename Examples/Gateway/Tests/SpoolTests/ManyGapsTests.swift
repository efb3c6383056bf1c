import Foundation
import Synchronization
import Testing

@testable import Spool

/// More records that are gone, each behind one that waits, than a position keeps.
@Suite struct ManyGapsTests {
    private let folder: SpoolFolder

    init() throws { folder = try SpoolFolder() }

    /// Appends records, takes them, and gives up each second one while the first one waits.
    private func giveUp(_ count: Int, in spool: Spool) throws {
        for number in 0...(2 * count) { try spool.append([UInt8](repeating: UInt8(number % 251), count: 20)) }
        while try spool.next() != nil {}
        for number in 1...count { try spool.drop(UInt64(2 * number)) }
    }

    /// How many records were dropped by all losses that nobody was told of yet; now somebody is.
    private func tell(_ spool: Spool) throws -> Int { try spool.losses().reduce(0) { $0 + $1.count } }

    @Test func `none that was told as dropped is handed out again after the process was killed`() throws {
        let count = Position.gapLimit + 20
        let spool = try folder.spool()
        try giveUp(count, in: spool)
        let told = try tell(spool)
        #expect(told == spool.counts.dropped && spool.counts.addUp)
        let copy = try folder.copy()
        let later = try copy.spool()
        let records = try later.drain()
        #expect(records.count + told == 2 * count + 1)
        #expect(later.counts.dropped == told && later.counts.addUp)
        #expect(try later.losses() == [])
    }

    @Test func `each is told once, and none is handed out again, when the connection is lost`() throws {
        let count = Position.gapLimit + 20
        let spool = try folder.spool()
        try giveUp(count, in: spool)
        var told = try tell(spool)
        // Neither given up twice, nor acknowledged.
        try spool.drop(UInt64(2 * count))
        try spool.acknowledge(UInt64(2 * count))
        spool.rewind()
        #expect(try spool.drain().map(\.sequence) == (0...count).map { UInt64(2 * $0 + 1) })
        // Before the rest is told, the position must know of it.
        let early = try folder.copy()
        told += try tell(spool)
        #expect(told == count && spool.counts.dropped == count && spool.counts.acknowledged == count + 1)
        #expect(spool.counts.spooled == 0 && spool.counts.addUp)
        for folder in [early, try folder.copy()] {
            let later = try folder.spool()
            #expect(try later.drain().allSatisfy { $0.sequence % 2 == 1 })
            #expect(later.counts.dropped == count && later.counts.addUp)
        }
    }

    @Test func `those of a full spool are told once when their file is removed`() throws {
        let count = Position.gapLimit + 20
        let spool = try folder.spool()
        try giveUp(count, in: spool)
        let oldest = try #require(folder.segments.first)
        while folder.segments.first == oldest { try spool.append([UInt8](repeating: 0, count: 200)) }
        // No acknowledgement comes any more.
        spool.rewind()
        let told = try tell(spool)
        #expect(told == spool.counts.dropped && spool.counts.addUp)
        #expect(told >= 2 * count + 1)
        _ = try spool.drain()
        #expect(spool.counts.spooled == 0 && spool.counts.dropped == told)
    }

    @Test func `damage behind them is told once, though the process was killed after it was found`() throws {
        let spool = try folder.spool()
        try giveUp(Position.gapLimit, in: spool)
        for number in 0..<300 { try spool.append([UInt8](repeating: UInt8(number % 251), count: 100)) }
        #expect(folder.segments.count == 3)
        truncate(folder.segments[1], off_t(Segment.headerSize + 108 * 10 + 50))
        while try spool.next() != nil {}
        let told = try tell(spool)
        #expect(told == spool.counts.dropped && spool.counts.addUp)
        let copy = try folder.copy()
        let later = try copy.spool()
        let records = try later.drain()
        let toldLater = try tell(later)
        #expect(told + toldLater == later.counts.dropped && toldLater + told > Position.gapLimit)
        #expect(records.count + later.counts.dropped == 2 * Position.gapLimit + 1 + 300 && later.counts.addUp)
    }

    /// Whether the disk has no room for records.
    private final class Fullness: Sendable {
        let isOn = Mutex(false)
    }

    @Test func `one that was given up behind many files that follow refused records isn't handed out again`() throws {
        let fullness = Fullness()
        var disk = Disk()
        disk.synchronise = { _ in 0 }
        disk.write = { file, octets, offset in
            guard octets.count != Position.size, fullness.isOn.withLock({ $0 }) else {
                return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
            }
            errno = ENOSPC
            return -1
        }
        let spool = try Spool(folder.settings(limit: 4 << 20), disk)
        let count = Position.gapLimit + 10
        for number in 0..<count {
            try spool.append([UInt8(number)])
            fullness.isOn.withLock { $0 = true }
            #expect(throws: SpoolError.self) { try spool.append([1]) }
            fullness.isOn.withLock { $0 = false }
            // From now on, its number stays.
            #expect(try tell(spool) == 1)
        }
        #expect(folder.segments.count == count)
        let last = try spool.append([2])
        while try spool.next() != nil {}
        try spool.drop(last)
        #expect(try tell(spool) == 1)
        let copy = try folder.copy()
        let later = try Spool(copy.settings(limit: 4 << 20), disk)
        #expect(later.counts.dropped == count + 1)
        let records = try later.drain()
        #expect(records.count == count && !records.contains { $0.sequence == last })
        #expect(try later.losses() == [])
    }
}
