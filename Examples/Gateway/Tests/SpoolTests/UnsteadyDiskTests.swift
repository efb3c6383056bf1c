import Foundation
import Synchronization
import Testing

@testable import Spool

/// A disk that is full for a record, and not for the next one.
@Suite struct UnsteadyDiskTests {
    private let folder: SpoolFolder
    private let disk = UnsteadyDisk()

    init() throws { folder = try SpoolFolder() }

    /// Appends a record that finds room, or doesn't.
    ///
    /// - Returns: its number; `nil`: it was refused.
    private func append(_ number: Int, to spool: Spool, isFull: Bool) throws -> UInt64? {
        try append(payload(number), to: spool, isFull: isFull)
    }

    private func append(_ payload: [UInt8], to spool: Spool, isFull: Bool) throws -> UInt64? {
        disk.isFull.withLock { $0 = isFull }
        defer { disk.isFull.withLock { $0 = false } }
        do {
            return try spool.append(payload)
        } catch {
            guard error.code == .diskFull else { throw error }
            return nil
        }
    }

    private func payload(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251), count: 100) }

    @Test func `a disk that is full on and off doesn't make a file for each record`() throws {
        let spool = try Spool(folder.settings(), disk.disk)
        var stored: [UInt64] = []
        for number in 0..<400 {
            if let sequence = try append(number, to: spool, isFull: number % 2 == 1) { stored.append(sequence) }
        }
        #expect(stored.count == 200)
        // 200 records of 108 octets, in files of 16 KiB.
        #expect(folder.segments.count == 2)
        #expect(spool.counts.appended == 400 && spool.counts.refused == 200 && spool.counts.dropped == 200)
        #expect(spool.counts.addUp)
        let records = try spool.drain()
        #expect(records.map(\.sequence) == stored)
        #expect(records.map(\.payload) == (0..<200).map { payload(2 * $0) })
        let losses = try spool.losses()
        #expect(losses.reduce(0) { $0 + $1.count } == 200)
        #expect(Set(losses.flatMap { Array($0.first...$0.last) }).isDisjoint(with: stored))
        #expect(spool.counts.acknowledged == 200 && spool.counts.spooled == 0)
    }

    @Test func `a process that ends between such records loses none, and counts exactly`() throws {
        let spool = try Spool(folder.settings(), disk.disk)
        var (stored, payloads): ([UInt64], [[UInt8]]) = ([], [])
        var random = Seeded(1)
        for number in 0..<300 {
            let isFull = Int.random(in: 0..<3, using: &random) == 0
            if let sequence = try append(number, to: spool, isFull: isFull) {
                stored.append(sequence)
                payloads.append(payload(number))
            }
            guard number % 3 == 0 else { continue }
            let copy = try folder.copy()
            let later = try copy.spool()
            #expect(later.counts.appended == number + 1)
            #expect(later.counts.dropped == number + 1 - stored.count)
            #expect(later.counts.addUp)
            let losses = try later.losses()
            #expect(losses.reduce(0) { $0 + $1.count } == number + 1 - stored.count)
            #expect(Set(losses.flatMap { Array($0.first...$0.last) }).isDisjoint(with: stored))
            let records = try later.drain()
            #expect(records.map(\.sequence) == stored && records.map(\.payload) == payloads)
            #expect(try later.append([1]) == UInt64(number + 2))
        }
    }

    @Test func `the numbers of a loss are right if the process ends after a record made room for itself`() throws {
        do {
            // A file that is smaller than what it counts towards the limit.
            let spool = try Spool(folder.settings(), disk.disk)
            #expect(try append(0, to: spool, isFull: false) == 1)
            try spool.close()
        }
        let spool = try Spool(folder.settings(), disk.disk)
        // An acknowledgement can still come: nobody is told of its loss before the process ends.
        #expect(try spool.next()?.sequence == 1)
        let oldest = try #require(folder.segments.first)
        var stored: [UInt64] = []
        var refused = 0
        while folder.segments.first == oldest, refused < 1000 {
            #expect(try append([1], to: spool, isFull: true) == nil)
            refused += 1
            #expect(folder.segments.first == oldest)
            let sequence = try append([UInt8](repeating: 2, count: 200), to: spool, isFull: false)
            stored.append(try #require(sequence))
        }
        #expect(folder.segments.count == 4)
        let copy = try folder.copy()
        let later = try copy.spool()
        #expect(later.counts.appended == 1 + refused + stored.count)
        #expect(later.counts.dropped == 1 + refused && later.counts.addUp)
        let losses = try later.losses()
        #expect(losses.reduce(0) { $0 + $1.count } == 1 + refused)
        #expect(Set(losses.flatMap { Array($0.first...$0.last) }).isDisjoint(with: stored))
        #expect(try later.drain().map(\.sequence) == stored)
    }

    @Test func `a loss of power that leaves an older position tells no number of a record that is there`() throws {
        let spool = try Spool(folder.settings(), disk.disk)
        #expect(try append(1, to: spool, isFull: false) == 1)
        #expect(try append(2, to: spool, isFull: true) == nil)
        let older = try folder.copy()
        for number in 3...5 { #expect(try append(number, to: spool, isFull: false) == UInt64(number - 1)) }
        #expect(try append(6, to: spool, isFull: true) == nil)
        #expect(spool.loss == SpoolLoss(first: 5, last: 6, count: 2))
        #expect(try append(7, to: spool, isFull: false) == 7)
        let copy = try folder.copy()
        let position = try Data(contentsOf: URL(fileURLWithPath: "\(older.path)/position"))
        try position.write(to: URL(fileURLWithPath: "\(copy.path)/position"))
        // The file that says how many were refused has lost its only record.
        truncate(try #require(copy.segments.last), off_t(Segment.headerSize + 3))
        let later = try copy.spool()
        #expect(try later.losses() == [SpoolLoss(first: 5, last: 5, count: 1)])
        #expect(try later.drain().map(\.sequence) == [1, 2, 3, 4])
        #expect(later.counts.dropped == 1 && later.counts.addUp)
    }

    @Test func `a damaged file behind such records makes none that is there a lost one`() throws {
        do {
            let spool = try Spool(folder.settings(), disk.disk)
            #expect(try append(1, to: spool, isFull: false) == 1)
            #expect(try append(2, to: spool, isFull: true) == nil)
            for number in 3...400 { #expect(try append(number, to: spool, isFull: false) != nil) }
        }
        #expect(folder.segments.count == 3)
        truncate(folder.segments[1], 0)
        let spool = try folder.spool()
        let stored = try spool.drain().map(\.sequence)
        let lost = try spool.losses().flatMap { Array($0.first...$0.last) }
        #expect(Set(lost).isDisjoint(with: stored))
        #expect(Set(lost).union(stored) == Set<UInt64>(1...400))
        #expect(spool.counts.dropped == 400 - stored.count && spool.counts.addUp)
    }

    @Test func `the numbers of a loss don't change when somebody was told of it`() throws {
        let spool = try Spool(folder.settings(), disk.disk)
        #expect(try append(1, to: spool, isFull: false) == 1)
        #expect(try append(2, to: spool, isFull: true) == nil)
        let loss = try #require(spool.loss)
        #expect(loss == SpoolLoss(first: 2, last: 2, count: 1) && spool.nextSequence == 3)
        #expect(try append(3, to: spool, isFull: false) == 3)
        try spool.acknowledge(loss)
        #expect(spool.loss == nil)
        #expect(try spool.drain().map(\.sequence) == [1, 3])
        #expect(spool.counts.addUp && spool.counts.dropped == 1)
    }

    @Test func `a record is handed out, unmarked, that is stored behind such a one when all was read`() throws {
        let spool = try Spool(folder.settings(), disk.disk)
        #expect(try append(1, to: spool, isFull: false) == 1)
        #expect(try append(2, to: spool, isFull: true) == nil)
        #expect(spool.nextSequence == 2)
        #expect(try spool.next()?.sequence == 1)
        #expect(try spool.next() == nil)
        let stored = try #require(try append(3, to: spool, isFull: false))
        #expect(try spool.next() == SpoolRecord(sequence: stored, epoch: 1, isRedelivered: false, payload: payload(3)))
        try spool.acknowledge(1)
        try spool.acknowledge(stored)
        #expect(spool.counts.acknowledged == 2 && spool.counts.spooled == 0 && spool.counts.addUp)
        #expect(try append(4, to: spool, isFull: false) == 4)
        #expect(try spool.drain().map(\.sequence) == [4])
    }
}

/// A disk that is full when a test says so; the place of the position exists already.
private final class UnsteadyDisk: Sendable {
    let isFull = Mutex(false)

    var disk: Disk {
        var disk = Disk()
        disk.synchronise = { _ in 0 }
        disk.write = { [self] file, octets, offset in
            let isPosition = offset + octets.count <= 2 * 4096 && octets.count == Position.size
            guard isFull.withLock({ $0 }), !isPosition else {
                return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
            }
            // It has room for a part.
            if octets.count > 20 { return pwrite(file, octets.baseAddress, 10, off_t(offset)) }
            errno = ENOSPC
            return -1
        }
        return disk
    }
}
