import Foundation

@testable import Spool

/// A folder for a spool, removed when it is released.
final class SpoolFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/spool-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func settings(limit: Int = SpoolSettings.smallestLimit, recordsPerSync: Int = 16) -> SpoolSettings {
        SpoolSettings(folder: path, limit: limit, recordsPerSync: recordsPerSync)
    }

    /// Opens the spool, without waiting for the disk: nothing here loses power.
    func spool(recordsPerSync: Int = 16) throws -> Spool {
        var disk = Disk()
        disk.synchronise = { _ in 0 }
        return try Spool(settings(recordsPerSync: recordsPerSync), disk)
    }

    /// The files of the segments, the oldest first.
    var segments: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { $0.hasSuffix(".segment") }.sorted().map { "\(path)/\($0)" }
    }

    func size(of file: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: file)[.size]) as? Int) ?? 0
    }

    /// A copy of everything.
    func copy() throws -> SpoolFolder {
        let copy = try SpoolFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.copyItem(atPath: "\(path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        return copy
    }
}

/// Random numbers from a seed. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators".
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension SpoolCounts {
    /// Whether every record is accounted for.
    var addUp: Bool { appended == acknowledged + spooled + dropped }
}

extension Spool {
    /// Takes everything that waits, and acknowledges it.
    func drain() throws -> [SpoolRecord] {
        var records: [SpoolRecord] = []
        while let record = try next() {
            records.append(record)
            try acknowledge(record.sequence)
        }
        return records
    }

    /// Takes the reports of all losses.
    func losses() throws -> [SpoolLoss] {
        var losses: [SpoolLoss] = []
        while let loss {
            losses.append(loss)
            try acknowledge(loss)
        }
        return losses
    }
}
