import Foundation
import Synchronization
import Testing

@testable import Spool

// One after the other, so that they leave other tests a thread.
@Suite("A spool that was cut off", .serialized)
struct CrashTests {
    @Test("has all whole records, wherever its last file ends")
    func everyOctet() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...12 { try spool.append([UInt8](repeating: UInt8(number), count: number)) }
        }
        let last = try #require(folder.segments.last)
        let ends = (1...12).reduce(into: [Segment.headerSize]) { $0.append(($0.last ?? 0) + 8 + $1) }
        for size in 0...folder.size(of: last) {
            let copy = try folder.copy()
            truncate(copy.segments[0], off_t(size))
            let spool = try copy.spool()
            let whole = max(0, (ends.lastIndex { $0 <= size } ?? 0))
            #expect(try spool.drain().map(\.payload.count) == Array(1...12).prefix(whole).map { $0 })
            #expect(spool.counts.addUp)
            #expect(try spool.append([99]) == spool.nextSequence - 1)
            #expect(try spool.drain().map(\.payload) == [[99]])
        }
    }

    @Test("takes no zeros for records, which a loss of power leaves where its last file was being made longer")
    func zeros() throws {
        let folder = try SpoolFolder()
        let payloads: [[UInt8]] = [[1], [], [2, 2], []]
        do {
            let spool = try folder.spool()
            for payload in payloads { try spool.append(payload) }
            try spool.close()
        }
        let last = try #require(folder.segments.last)
        let size = folder.size(of: last)
        for zeros in [1, 7, 8, 12, 4096] {
            let copy = try folder.copy()
            truncate(copy.segments[0], off_t(size + zeros))
            let spool = try copy.spool()
            #expect(try spool.drain().map(\.payload) == payloads)
            #expect(spool.counts.appended == payloads.count)
            #expect(try spool.losses().isEmpty)
            #expect(try spool.append([3]) == 5)
            #expect(try spool.drain().map(\.payload) == [[3]])
        }
    }

    @Test func `a spool reports once what a loss of power took, however often it is opened`() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...10 { try spool.append([UInt8(number)]) }
            try spool.close()
        }
        truncate(try #require(folder.segments.last), off_t(Segment.headerSize + 5 * (Segment.recordHeaderSize + 1)))
        for _ in 1...3 { try folder.spool().close() }
        do {
            let spool = try folder.spool()
            #expect(spool.counts.dropped == 5 && spool.counts.addUp)
            #expect(try spool.append([11]) == 11)
            try spool.close()
        }
        let spool = try folder.spool()
        #expect(try spool.drain().map(\.sequence) == [1, 2, 3, 4, 5, 11])
        #expect(try spool.losses() == [SpoolLoss(first: 6, last: 10, count: 5)])
        #expect(spool.counts.dropped == 5 && spool.counts.acknowledged == 6 && spool.counts.addUp)
    }

    @Test("hands everything out again, marked, if its position is damaged")
    func position() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...12 { try spool.append([UInt8(number)]) }
            for _ in 1...4 { try spool.acknowledge(spool.next()?.sequence ?? 0) }
            try spool.close()
        }
        for size in stride(from: 0, through: folder.size(of: "\(folder.path)/position"), by: 7) {
            let copy = try folder.copy()
            truncate("\(copy.path)/position", off_t(size))
            let spool = try copy.spool()
            let records = try spool.drain()
            #expect(records.suffix(8).map(\.payload) == (5...12).map { [$0] })
            #expect(spool.counts.addUp)
            #expect(spool.counts.acknowledged == 12)
        }
    }

    /// Whether the disk takes no position.
    private final class Refusal: Sendable {
        let isOn = Mutex(false)
    }

    @Test("marks what it has handed out, also if the position could not be written at the first attempt")
    func unwrittenPosition() throws {
        let folder = try SpoolFolder()
        let refusal = Refusal()
        var disk = Disk()
        disk.synchronise = { _ in 0 }
        disk.write = { file, octets, offset in
            guard octets.count == Position.size, refusal.isOn.withLock({ $0 }) else {
                return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
            }
            errno = ENOSPC
            return -1
        }
        let spool = try Spool(folder.settings(), disk)
        try spool.append([1])
        refusal.isOn.withLock { $0 = true }
        for _ in 1...2 {
            let error = #expect(throws: SpoolError.self) { try spool.next() }
            #expect(error?.code == .diskFull)
        }
        refusal.isOn.withLock { $0 = false }
        let first = try spool.next()
        #expect(first == SpoolRecord(sequence: 1, epoch: 1, isRedelivered: false, payload: [1]))
        // The process is killed.
        let copy = try folder.copy()
        let later = try copy.spool()
        let second = try later.next()
        #expect(second == SpoolRecord(sequence: 1, epoch: 1, isRedelivered: true, payload: [1]))
    }

    @Test("loses nothing and counts exactly, compared with a naive model", arguments: seeds)
    func model(_ seed: UInt64) throws {
        var model = try Model(seed)
        for _ in 0..<40 { try model.live() }
        try model.finish()
    }

    static let seeds = Array(0..<(ProcessInfo.processInfo.environment["SPOOL_SEEDS"].flatMap(UInt64.init) ?? 20))
}

/// What a spool was given and has handed out, and the crashes between.
private struct Model {
    /// A record's identity.
    struct Key: Hashable {
        var epoch: UInt64
        var sequence: UInt64
    }

    let folder: SpoolFolder
    let seed: UInt64
    var random: Seeded
    var stored: [Key: [UInt8]] = [:]
    var arrived: Set<Key> = []
    var reported = 0
    var reportedNumbers: Set<UInt64> = []
    /// Numbers that a torn file has taken away.
    var torn: Set<UInt64> = []
    var epoch: UInt64 = 0

    init(_ seed: UInt64) throws {
        self.seed = seed
        random = Seeded(seed)
        folder = try SpoolFolder()
    }

    /// One life of the process, and its end.
    mutating func live() throws {
        let spool = try folder.spool(recordsPerSync: 4)
        epoch += 1
        var inFlight: [SpoolRecord] = []
        for _ in 0..<Int.random(in: 0...150, using: &random) {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9: try append(to: spool)
            case 9..<13: if inFlight.count < 20, let record = try take(spool) { inFlight.append(record) }
            case 13..<18:
                guard let index = inFlight.indices.randomElement(using: &random) else { continue }
                try spool.acknowledge(inFlight.remove(at: index).sequence)
            case 18: report(try spool.losses())
            default:
                spool.rewind()
                inFlight = []
            }
            #expect(spool.counts.addUp, "seed \(seed)")
        }
        #expect(spool.counts.octets <= SpoolSettings.smallestLimit)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try spool.close()
        case 1: try tear(spool)
        default: break
        }
    }

    private mutating func append(to spool: Spool) throws {
        let payload = (0..<Int.random(in: 0...900, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
        }
        stored[Key(epoch: epoch, sequence: try spool.append(payload))] = payload
    }

    private mutating func take(_ spool: Spool) throws -> SpoolRecord? {
        guard let record = try spool.next() else { return nil }
        let key = Key(epoch: record.epoch, sequence: record.sequence)
        #expect(stored[key] == record.payload, "seed \(seed), record \(record.sequence)")
        // What comes twice is marked.
        if !arrived.insert(key).inserted { #expect(record.isRedelivered, "seed \(seed), record \(record.sequence)") }
        return record
    }

    private mutating func report(_ losses: [SpoolLoss]) {
        for loss in losses {
            reported += loss.count
            reportedNumbers.formUnion(loss.first...loss.last)
        }
    }

    /// The last file loses its end, as in a loss of power.
    private mutating func tear(_ spool: Spool) throws {
        try spool.flush()
        let next = spool.nextSequence
        try spool.close()
        guard let last = folder.segments.last else { return }
        truncate(last, off_t(Int.random(in: 0...folder.size(of: last), using: &random)))
        guard let first = Segment.first(name: String(last.split(separator: "/").last ?? "")) else { return }
        torn.formUnion(first..<max(first, next))
    }

    /// Every record has arrived, or its loss was reported.
    mutating func finish() throws {
        let spool = try folder.spool()
        epoch += 1
        while let record = try take(spool) { try spool.acknowledge(record.sequence) }
        report(try spool.losses())
        #expect(spool.counts.spooled == 0)
        #expect(spool.counts.addUp)
        #expect(Set(stored.keys.map(\.epoch)).count <= 41)
        for key in stored.keys where !arrived.contains(key) {
            #expect(
                reportedNumbers.contains(key.sequence) || torn.contains(key.sequence),
                "seed \(seed), \(key) is missing"
            )
        }
        #expect(spool.counts.appended == Int(stored.keys.map(\.sequence).max() ?? 0), "seed \(seed)")
    }
}
