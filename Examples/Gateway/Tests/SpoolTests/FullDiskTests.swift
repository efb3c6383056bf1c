import Foundation
import Testing

@testable import Spool

@Suite("A spool on a small disk", .enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
struct FullDiskTests {
    @Test("refuses what finds no room, and goes on when there is room again")
    func full() throws {
        let disk = try SmallDisk()
        let spool = try Spool(SpoolSettings(folder: "\(disk.path)/spool"))
        var stored: [UInt64] = []
        var refusals = 0
        for _ in 0..<1000 {
            do {
                stored.append(try spool.append([UInt8](repeating: 7, count: 1000)))
            } catch {
                #expect(error.code == .diskFull)
                refusals += 1
            }
        }
        #expect(refusals > 0)
        #expect(spool.counts.refused == refusals)
        #expect(spool.counts.addUp)
        #expect(try spool.drain().map(\.sequence) == stored)
        try spool.flush()
        // The segments that were acknowledged are gone.
        stored = [try spool.append([8])]
        #expect(try spool.drain().map(\.sequence) == stored)
        #expect(spool.counts.acknowledged + refusals == 1001)
        #expect(try spool.losses().reduce(0) { $0 + $1.count } == refusals)
        try spool.close()
    }
}

/// A file system of 256 KiB in memory.
private final class SmallDisk {
    static let isPossible: Bool = {
        guard geteuid() == 0, let disk = try? SmallDisk() else { return false }
        return FileManager.default.fileExists(atPath: disk.path)
    }()

    let path: String

    struct MountError: Error {}

    init() throws {
        path = NSTemporaryDirectory() + "/small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=256k") == 0 else {
            rmdir(path)
            throw MountError()
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }
}
