import Foundation
import Synchronization

@testable import Spool

/// A folder on a disk that is full when a test says so, and whose power ends.
///
/// A process that is killed is a spool that is released without being closed.
final class LossyDisk: Sendable {
    private struct State {
        var isFull = false
        /// What would be left of each file after a loss of power, by name.
        var durable: [String: [UInt8]] = [:]
    }

    private let state = Mutex(State())
    private let folder: SpoolFolder
    private let losesPower: Bool

    init(losesPower: Bool) throws {
        self.losesPower = losesPower
        folder = try SpoolFolder()
    }

    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    func spool(recordsPerSync: Int) throws -> Spool {
        try Spool(folder.settings(recordsPerSync: recordsPerSync), disk)
    }

    private var disk: Disk {
        var disk = Disk()
        disk.synchronise = { [self] file in
            if losesPower { keep(file) }
            return 0
        }
        disk.write = { [self] file, octets, offset in
            // The places of the position exist from the start.
            guard isFull, octets.count != Position.size else {
                return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
            }
            // It has room for a part.
            if octets.count > 20 { return pwrite(file, octets.baseAddress, 10, off_t(offset)) }
            errno = ENOSPC
            return -1
        }
        return disk
    }

    /// The content of a file is on the disk.
    private func keep(_ file: Int32) {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)"),
            let octets = FileManager.default.contents(atPath: path)
        else { return }
        let name = (path as NSString).lastPathComponent
        state.withLock { $0.durable[name] = [UInt8](octets) }
    }

    /// The power ends: of what was not synchronised, any part is left.
    func losePower(_ random: inout Seeded) throws {
        let (path, durable) = (folder.path, state.withLock { $0.durable })
        for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() where name != "lock" {
            let file = "\(path)/\(name)"
            let written = [UInt8](FileManager.default.contents(atPath: file) ?? Data())
            let kept = durable[name] ?? []
            try Data(left(of: written, kept, name, &random)).write(to: URL(fileURLWithPath: file))
        }
    }

    private func left(of written: [UInt8], _ kept: [UInt8], _ name: String, _ random: inout Seeded) -> [UInt8] {
        guard name.hasSuffix(".segment") else {
            // Each place of a position is the old one or the new one.
            let half = 4096
            guard kept.count > half, written.count > half else { return written }
            let (first, second) = (Bool.random(using: &random), Bool.random(using: &random))
            return Array((first ? kept : written)[..<half]) + Array((second ? kept : written)[half...])
        }
        // A file is only made longer.
        let least = min(kept.count, written.count)
        return Array(written[..<Int.random(in: least...written.count, using: &random)])
    }

    /// Damages or removes a file that isn't the last one.
    func damage(_ random: inout Seeded) throws {
        let files = folder.segments.dropLast()
        guard let file = files.randomElement(using: &random) else { return }
        if Bool.random(using: &random) { return try FileManager.default.removeItem(atPath: file) }
        let size = folder.size(of: file)
        guard size > Segment.headerSize else { return }
        let place = Int.random(in: Segment.headerSize..<size, using: &random)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(place))
        let octet = try handle.read(upToCount: 1)?.first ?? 0
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: [octet ^ 0x10])
    }
}
