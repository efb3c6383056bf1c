import Foundation
import Testing

@testable import Spool

@Suite("A spool of which any octets are damaged", .serialized)
struct DamageTests {
    @Test("hands out nothing that is wrong, counts everything, and goes on", arguments: seeds)
    func anywhere(_ seed: UInt64) throws {
        var random = Seeded(seed)
        let folder = try SpoolFolder()
        var next: UInt64 = 1
        for _ in 0..<3 {
            let spool = try folder.spool()
            for _ in 0..<Int.random(in: 0...90, using: &random) { next = try spool.append(payload(next)) + 1 }
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                guard let record = try spool.next() else { break }
                if Bool.random(using: &random) { try spool.acknowledge(record.sequence) }
            }
            if Bool.random(using: &random) { try spool.close() }
        }
        for _ in 0..<Int.random(in: 1...6, using: &random) { try damage(folder, &random) }
        let spool = try folder.spool()
        #expect(spool.counts.addUp)
        var last: UInt64 = 0
        while let record = try spool.next() {
            #expect(record.payload == payload(record.sequence))
            #expect(record.sequence > last)
            last = record.sequence
            try spool.acknowledge(record.sequence)
            #expect(spool.counts.addUp)
        }
        #expect(spool.counts.spooled == 0)
        let fresh = try spool.append([1])
        #expect(fresh > last)
        #expect(try spool.drain().map(\.sequence) == [fresh])
        #expect(spool.counts.addUp)
    }

    @Test func `a folder that can't be listed to its end is an error, and its records are there afterwards`() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...3 { try spool.append([UInt8(number)]) }
            try spool.close()
        }
        var disk = Disk()
        disk.nextEntry = { _ in
            errno = EIO
            return nil
        }
        let faulty = disk
        let error = #expect(throws: SpoolError.self) { _ = try Spool(folder.settings(), faulty) }
        #expect(error?.operation == "list" && error?.object == folder.path)
        let spool = try folder.spool()
        #expect(try spool.drain().map(\.payload) == [[1], [2], [3]])
        #expect(spool.counts.dropped == 0)
    }

    /// What becomes of the position's file.
    enum PositionDamage: CaseIterable {
        case emptied, overwritten, removed
    }

    @Test(arguments: PositionDamage.allCases)
    func `numbers go on if the position can't be read and no file is left to tell them`(
        _ damage: PositionDamage
    ) throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            for number in 1...5 { try spool.append([UInt8(number)]) }
            #expect(try spool.drain().count == 5)
            try spool.close()
        }
        // The next start removes the file, of which all was acknowledged.
        try folder.spool().close()
        #expect(folder.segments.isEmpty)
        let position = "\(folder.path)/position"
        switch damage {
        case .emptied: truncate(position, 0)
        case .overwritten: try Data(repeating: 0xA5, count: 8192).write(to: URL(fileURLWithPath: position))
        case .removed: try FileManager.default.removeItem(atPath: position)
        }
        let spool = try folder.spool()
        #expect(spool.counts.appended == 5 && spool.counts.acknowledged == 5 && spool.counts.addUp)
        #expect(try spool.append([6]) == 6)
        #expect(try spool.next() == SpoolRecord(sequence: 6, epoch: 3, isRedelivered: false, payload: [6]))
        #expect(try spool.losses() == [])
    }

    static let seeds = Array(0..<(ProcessInfo.processInfo.environment["SPOOL_SEEDS"].flatMap(UInt64.init) ?? 50))

    /// Some octets that tell which record they are of; four segments hold about 80 of them.
    private func payload(_ sequence: UInt64) -> [UInt8] {
        withUnsafeBytes(of: sequence) { Array($0) } + [UInt8](repeating: UInt8(sequence % 251), count: 800)
    }

    /// Changes octets of a file, cuts it off, or makes it longer.
    private func damage(_ folder: SpoolFolder, _ random: inout Seeded) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "lock" }.sorted()
        guard let name = names.randomElement(using: &random) else { return }
        let file = URL(fileURLWithPath: "\(folder.path)/\(name)")
        var octets = [UInt8](try Data(contentsOf: file))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: octets.removeLast(Int.random(in: 0...octets.count, using: &random))
        case 1:
            for _ in 0..<Int.random(in: 1...100, using: &random) { octets.append(.random(in: 0...255, using: &random)) }
        default:
            guard let place = octets.indices.randomElement(using: &random) else { return }
            // The beginning of a file says the most, except the version: with another octet, it makes a newer one.
            let aim = Bool.random(using: &random) ? place : place % 64
            if ![6, 7].contains(aim % 4096) { octets[aim] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
        }
        try Data(octets).write(to: file)
    }
}
