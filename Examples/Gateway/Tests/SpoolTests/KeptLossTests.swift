import Foundation
import Testing

@testable import Spool

/// What was told, or is to be told, when the process is killed.
@Suite struct KeptLossTests {
    private let folder: SpoolFolder

    init() throws { folder = try SpoolFolder() }

    /// A spool of 200 records in three files, of which the second one is found to be damaged while the first record
    /// still waits for its acknowledgement.
    private func damaged() throws -> Spool {
        let spool = try folder.spool()
        for number in 0..<200 { try spool.append([UInt8](repeating: UInt8(number), count: 200)) }
        #expect(folder.segments.count == 3)
        truncate(folder.segments[1], off_t(Segment.headerSize + 208 * 10 + 50))
        while try spool.next() != nil {}
        return spool
    }

    @Test func `damage that was found and told isn't told again after the process was killed`() throws {
        let spool = try damaged()
        let losses = try spool.losses()
        let loss = try #require(losses.first)
        #expect(losses.count == 1 && loss.count == spool.counts.dropped)
        // Several times: an opening keeps what it has found.
        let copy = try folder.copy()
        for _ in 1...2 { _ = try copy.spool() }
        let later = try copy.spool()
        let records = try later.drain()
        #expect(try later.losses() == [])
        #expect(later.counts.dropped == loss.count && later.counts.addUp)
        #expect(records.count + loss.count == 200)
        #expect(!records.contains { loss.first...loss.last ~= $0.sequence })
    }

    @Test func `damage that was found and not told is told once after the process was killed`() throws {
        let spool = try damaged()
        let dropped = spool.counts.dropped
        let copy = try folder.copy()
        let later = try copy.spool()
        let records = try later.drain()
        #expect(try later.losses().map(\.count) == [dropped])
        #expect(records.count + dropped == 200)
        #expect(later.counts.dropped == dropped && later.counts.addUp)
    }

    @Test func `a record that was given up before others isn't handed out, or told, again`() throws {
        let spool = try folder.spool()
        for number in 1...4 { try spool.append([UInt8(number)]) }
        for _ in 1...4 { _ = try spool.next() }
        try spool.drop(2)
        #expect(try spool.losses() == [SpoolLoss(first: 2, last: 2, count: 1)])
        try spool.drop(4)
        let copy = try folder.copy()
        let later = try copy.spool()
        #expect(later.counts.dropped == 2 && later.counts.addUp)
        #expect(try later.append([5]) == 5)
        #expect(try later.drain().map(\.sequence) == [1, 3, 5])
        #expect(try later.losses() == [SpoolLoss(first: 4, last: 4, count: 1)])
        #expect(later.counts.dropped == 2 && later.counts.acknowledged == 3)
    }

    @Test func `a position that the former version has written is read`() throws {
        do {
            let spool = try folder.spool()
            for number in 1...9 { try spool.append([UInt8(number)]) }
            for _ in 1...9 { _ = try spool.next() }
            for number: UInt64 in 1...3 { try spool.acknowledge(number) }
            try spool.drop(4)
            try spool.close()
        }
        let file = URL(fileURLWithPath: "\(folder.path)/position")
        let octets = [UInt8](try Data(contentsOf: file))
        let places = [0, 4096].map { place in
            // Without the count of gaps, and with room for all losses behind the ten numbers.
            var body = Array(octets[place..<(place + 80)] + octets[(place + 88)..<(place + Position.formerSize + 4)])
            body[7] = UInt8(ascii: "1")
            // What was behind the only loss: the checksum.
            for index in 104..<body.count { body[index] = 0 }
            return body + withUnsafeBytes(of: CRC32C.checksum(body).littleEndian) { Array($0) }
        }
        let rest = [UInt8](repeating: 0, count: 4096 - Position.formerSize)
        try Data(places[0] + rest + places[1]).write(to: file)
        let spool = try folder.spool()
        #expect(spool.counts.dropped == 1 && spool.counts.acknowledged == 3 && spool.counts.addUp)
        let records = try spool.drain()
        #expect(records.map(\.sequence) == Array(5...9))
        #expect(try spool.losses() == [SpoolLoss(first: 4, last: 4, count: 1)])
        #expect(try spool.append([10]) == 10)
        #expect(try spool.next()?.epoch == 2)
    }

    @Test func `records that were dropped after they had been handed out are told after a kill`() throws {
        let spool = try folder.spool()
        for number in 1...3 { try spool.append([UInt8(number)]) }
        for _ in 1...3 { _ = try spool.next() }
        for _ in 0..<400 { try spool.append([UInt8](repeating: 0, count: 200)) }
        try spool.acknowledge(2)
        // The one that came is written with the position.
        #expect(try spool.next() != nil)
        let untold = spool.counts.dropped
        try spool.flush()
        let copy = try folder.copy()
        let later = try copy.spool()
        let losses = try later.losses()
        #expect(losses.contains { $0.first == 1 })
        #expect(losses.reduce(0) { $0 + $1.count } == untold)
        #expect(later.counts.dropped == untold && later.counts.addUp)
        #expect(try later.drain().count == 403 - 1 - untold)
        #expect(later.counts.acknowledged == 403 - untold)
    }

    @Test func `a record that was dropped after it had been handed out, and is refused, is told at once`() throws {
        let spool = try folder.spool()
        for number in 1...3 { try spool.append([UInt8(number)]) }
        for _ in 1...2 { _ = try spool.next() }
        for _ in 0..<400 { try spool.append([UInt8](repeating: 0, count: 200)) }
        let told = try spool.losses().reduce(0) { $0 + $1.count }
        let dropped = spool.counts.dropped
        #expect(spool.counts.late == 2 && dropped == told + 2)
        try spool.drop(1)
        #expect(try spool.losses() == [SpoolLoss(first: 1, last: 1, count: 1)])
        #expect(spool.counts.late == 1 && spool.counts.dropped == dropped && spool.counts.addUp)
    }
}
