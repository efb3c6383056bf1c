import Foundation
import Testing

@testable import Spool

/// All that a spool can be asked for, in any order, on a disk that is full at times, with restarts between; compared
/// with a naive reference. `SPOOL_SEEDS` sets how many orders.
@Suite("A spool under random calls", .serialized)
struct InterleavingTests {
    static let seeds: Range<UInt64> =
        0..<(ProcessInfo.processInfo.environment["SPOOL_SEEDS"].flatMap(UInt64.init) ?? 150)

    @Test func `hands out or tells of each record, tells of none twice, and uses no number twice, if it is killed`()
        throws
    {
        for seed in Self.seeds { try run(seed, losesPower: false) }
    }

    @Test func `loses nothing that was synchronised in a loss of power`() throws {
        for seed in Self.seeds { try run(seed, losesPower: true) }
    }

    @Test func `what a killed process has written is synchronised by the flush of the next one`() throws {
        for seed: UInt64 in 0..<20 {
            var random = Seeded(seed)
            let disk = try LossyDisk(losesPower: true)
            do {
                let spool = try disk.spool(recordsPerSync: 16)
                for number in 1...8 { try spool.append([UInt8(number)]) }
            }
            do { try disk.spool(recordsPerSync: 16).flush() }
            try disk.losePower(&random)
            let spool = try disk.spool(recordsPerSync: 16)
            #expect(try spool.drain().count == 8)
            #expect(spool.counts.dropped == 0)
        }
    }

    private func run(_ seed: UInt64, losesPower: Bool) throws {
        var random = Seeded(seed)
        let disk = try LossyDisk(losesPower: losesPower)
        var reference = Reference("seed \(seed)\(losesPower ? ", power" : "")", losesPower: losesPower)
        let isDamaged = !losesPower && Bool.random(using: &random)
        let fullness = [0, 30, 60].randomElement(using: &random) ?? 0
        let isLarge = Int.random(in: 0..<3, using: &random) == 0
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            disk.isFull = false
            let interval = [1, 4, 16].randomElement(using: &random) ?? 1
            let spool = try disk.spool(recordsPerSync: interval)
            reference.opened(spool)
            let steps = [5, 30, 150].randomElement(using: &random) ?? 5
            for _ in 0..<steps {
                switch Int.random(in: 0..<100, using: &random) {
                case 0..<45: try reference.append(to: spool, length(isLarge, &random))
                case 45..<65: try reference.take(from: spool)
                case 65..<80: try reference.acknowledge(spool, &random)
                case 80..<84: try reference.drop(spool, &random)
                case 84..<87: reference.rewind(spool)
                case 87..<91: try reference.tell(spool, isDelivered: true)
                case 91..<93: try reference.tell(spool, isDelivered: false)
                case 93..<95: try reference.flush(spool)
                case 95..<99: disk.isFull = Int.random(in: 0..<100, using: &random) < fullness
                default: if isDamaged { try disk.damage(&random) }
                }
                reference.check(spool)
            }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try reference.close(spool)
            case 1 where losesPower:
                try disk.losePower(&random)
                reference.powerWasLost()
            // The process is killed.
            default: break
            }
        }
        disk.isFull = false
        let spool = try disk.spool(recordsPerSync: 16)
        reference.opened(spool)
        while try reference.take(from: spool) {}
        try reference.acknowledgeAll(spool)
        while try reference.tell(spool, isDelivered: true) {}
        reference.finish(spool)
    }

    /// Small ones; or such that a few fill a file, and some are too large.
    private func length(_ isLarge: Bool, _ random: inout Seeded) -> Int {
        let lengths = isLarge ? [1000, 3000, 6000, 13_000] : [8, 10, 100, 300, 500]
        return lengths.randomElement(using: &random) ?? 8
    }
}

/// What a spool was given, has handed out and has told, without any of its rules.
private struct Reference {
    private struct Key: Hashable {
        var epoch: UInt64
        var sequence: UInt64
    }

    private struct Entry: Equatable {
        var payload: [UInt8]
        var isDelivered = false
        /// A flush has returned since it was appended.
        var isSynchronised = false
        /// A loss of power may have taken it.
        var mayBeGone = false
    }

    private let name: String
    private let losesPower: Bool
    private var entries: [Key: Entry] = [:]
    private var inFlight: [UInt64] = []
    private var appended = 0
    private var epoch: UInt64 = 0
    /// The highest number that a record got.
    private var highest: UInt64 = 0
    /// The highest number that was told.
    private var highestTold: UInt64 = 0
    /// The number that was handed out last since the last rewinding.
    private var lastTaken: UInt64 = 0
    private var told: [SpoolLoss] = []

    init(_ name: String, losesPower: Bool) {
        self.name = name
        self.losesPower = losesPower
    }

    /// Checks without the cost of `#expect`, which is too high for each of so many steps.
    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { Issue.record("\(text())") }
    }

    mutating func opened(_ spool: Spool) {
        epoch = spool.epoch
        (inFlight, lastTaken) = ([], 0)
        check(spool)
    }

    mutating func append(to spool: Spool, _ length: Int) throws {
        appended += 1
        let mark = withUnsafeBytes(of: UInt64(appended)) { Array($0) }
        let payload = mark + [UInt8](repeating: UInt8(appended % 251), count: length - mark.count)
        guard let sequence = try? spool.append(payload) else { return }
        let key = Key(epoch: epoch, sequence: sequence)
        let isNew = entries[key] == nil
        expect(isNew, "\(name): number \(sequence) was used twice")
        if !losesPower {
            let former = max(highest, highestTold)
            expect(sequence > former, "\(name): number \(sequence) was used or told before")
        }
        highest = max(highest, sequence)
        entries[key] = Entry(payload: payload)
    }

    /// Takes a record.
    ///
    /// - Returns: whether there is one.
    @discardableResult
    mutating func take(from spool: Spool) throws -> Bool {
        guard let record = try spool.next() else { return false }
        let key = Key(epoch: record.epoch, sequence: record.sequence)
        expect(record.sequence > lastTaken, "\(name): number \(record.sequence) after \(lastTaken)")
        lastTaken = record.sequence
        guard let entry = entries[key], entry.payload == record.payload else {
            Issue.record("\(name): \(key) is not what was appended")
            return true
        }
        if entry.isDelivered { expect(record.isRedelivered, "\(name): \(key) is not marked") }
        entries[key]?.isDelivered = true
        inFlight.append(record.sequence)
        return true
    }

    mutating func acknowledge(_ spool: Spool, _ random: inout Seeded) throws {
        guard let index = inFlight.indices.randomElement(using: &random) else { return }
        try spool.acknowledge(inFlight.remove(at: index))
    }

    mutating func acknowledgeAll(_ spool: Spool) throws {
        for sequence in inFlight { try spool.acknowledge(sequence) }
        inFlight = []
    }

    mutating func drop(_ spool: Spool, _ random: inout Seeded) throws {
        guard let index = inFlight.indices.randomElement(using: &random) else { return }
        try spool.drop(inFlight.remove(at: index))
    }

    mutating func rewind(_ spool: Spool) {
        spool.rewind()
        (inFlight, lastTaken) = ([], 0)
    }

    /// Tells of the oldest loss; the receiver may say that it knows.
    ///
    /// - Returns: whether there is one.
    @discardableResult
    mutating func tell(_ spool: Spool, isDelivered: Bool) throws -> Bool {
        guard let loss = spool.loss else { return false }
        highestTold = max(highestTold, loss.last)
        guard isDelivered else { return true }
        told.append(loss)
        try spool.acknowledge(loss)
        return true
    }

    mutating func flush(_ spool: Spool) throws {
        try spool.flush()
        synchronised()
    }

    mutating func close(_ spool: Spool) throws {
        try spool.close()
        synchronised()
    }

    private mutating func synchronised() {
        for key in entries.keys { entries[key]?.isSynchronised = true }
    }

    mutating func powerWasLost() {
        for (key, entry) in entries where !entry.isSynchronised { entries[key]?.mayBeGone = true }
    }

    private var toldCount: Int { told.reduce(0) { $0 + $1.count } }

    func check(_ spool: Spool) {
        let counts = spool.counts
        expect(counts.addUp, "\(name): \(counts)")
        expect(counts.octets <= SpoolSettings.smallestLimit, "\(name): \(counts)")
        guard !losesPower else { return }
        expect(counts.appended == appended, "\(name): \(counts)")
        // Told, or still to be told: each dropped record is in exactly one of the two.
        expect(toldCount + spool.untold == counts.dropped, "\(name): \(toldCount) are told; \(counts)")
    }

    func finish(_ spool: Spool) {
        check(spool)
        expect(spool.counts.spooled == 0 && spool.untold == 0, "\(name): \(spool.counts)")
        for (key, entry) in entries where !entry.isDelivered && !entry.mayBeGone {
            let isTold = told.contains { $0.first...$0.last ~= key.sequence }
            expect(isTold, "\(name): \(key) was neither handed out nor told")
        }
    }
}
