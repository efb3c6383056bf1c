import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A file that is not as it was written is no trap and no wrong key: it is set aside, named with what to do, and the
/// bonds with others go on.
@Suite(.timeLimit(.minutes(10))) struct DamagedStoreTests {
    private let peer = StoreChild.peer
    private let other = StoreChild.other
    private let name = "C4-F2-17-1A-1D-BB-random.json"

    /// Writes bonds, puts other octets in place of one file, and reads as the next program does.
    private func read(
        _ octets: [UInt8],
        in child: StoreChild,
        _ body: (PeerStore, Recorder<BLEError>) async throws -> Void
    ) async throws {
        try Data(octets).write(to: URL(filePath: "\(child.folder)/\(name)"))
        let warnings = Recorder<BLEError>()
        try await body(PeerStore(folder: child.folder) { warnings.add($0) }, warnings)
        try? FileManager.default.removeItem(atPath: "\(child.folder)/\(name).1")
    }

    private func withBonds(_ body: (StoreChild, [UInt8]) async throws -> Void) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            try await body(child, Array(try Data(contentsOf: URL(filePath: "\(child.folder)/\(name)"))))
        }
    }

    private func expectSetAside(
        _ octets: [UInt8],
        in child: StoreChild,
        _ note: Comment
    ) async throws {
        try await read(octets, in: child) { store, warnings in
            #expect(store.bonds(with: peer).isEmpty, note)
            let warning = try #require(warnings.all.first, note)
            #expect(warning.object == "\(child.folder)/\(name)", note)
            #expect(warning.cause.contains("set aside as \(child.folder)/\(name).1"), note)
            #expect(warning.remedy.contains("pair again"), note)
            #expect(try Data(contentsOf: URL(filePath: "\(child.folder)/\(name).1")) == Data(octets), "it is all there")
            #expect(store.bonds(with: other) == [.planted(9, with: other)], note)
        }
    }

    @Test func `a file of which the end is missing is set aside, wherever it ends`() async throws {
        try await withBonds { child, octets in
            // Without its last octet, a closing brace's, it would be damaged all the same.
            for length in 0..<octets.count {
                try await expectSetAside(Array(octets[..<length]), in: child, "the first \(length) octets")
            }
        }
    }

    @Test func `an octet that has changed is noticed, or changes nothing`() async throws {
        try await withBonds { child, octets in
            var harmless = 0
            for index in octets.indices {
                for mask: UInt8 in [0x01, 0x20, 0x80] {
                    var changed = octets
                    changed[index] ^= mask
                    if (try? PeerFile(Data(changed), of: peer).record.bonds(with: peer)) == [.planted(1, with: peer)] {
                        harmless += 1
                    } else if mask == 0x01 {
                        try await expectSetAside(changed, in: child, "octet \(index)")
                    } else {
                        #expect(throws: PeerFile.Fault.self) { try PeerFile(Data(changed), of: peer) }
                    }
                }
            }
            // Spaces that became line feeds, and the like.
            #expect(harmless < octets.count)
        }
    }

    @Test func `the file of another device is not this one's`() async throws {
        try await withBonds { child, _ in
            let octets = try Data(contentsOf: URL(filePath: "\(child.folder)/C4-F2-17-1A-1D-BC-random.json"))
            try await expectSetAside(Array(octets), in: child, "a copy")
        }
    }

    @Test func `a file that was written before there was a checksum is read`() async throws {
        try await withBonds { child, octets in
            let now = try JSONDecoder().decode(PeerFile.self, from: Data(octets))
            var before = now
            (before.version, before.checksum) = (1, nil)
            try await read(Array(JSONEncoder().encode(before)), in: child) { store, warnings in
                #expect(store.bonds(with: peer) == [.planted(1, with: peer)] && warnings.all.isEmpty)
            }
        }
    }

    @Test func `a damaged file is not set aside while another program may be putting a good one in its place`()
        async throws
    {
        try await withBonds { child, _ in
            let lock = open("\(child.folder)/.lock", O_RDWR | O_CLOEXEC)
            try #require(flock(lock, LOCK_EX) == 0)
            defer { close(lock) }
            try await read([1, 2, 3], in: child) { store, warnings in
                #expect(store.bonds(with: peer).isEmpty)
                #expect(warnings.all.map(\.cause) == ["it is damaged"])
                #expect(try Data(contentsOf: URL(filePath: "\(child.folder)/\(name)")) == Data([1, 2, 3]))
                // As the other program does that.
                let record = PeerRecord(bonds: [BondRecord(.planted(5, with: peer))])
                let good = try #require(PeerFile(record, of: peer).octets)
                try good.write(to: URL(filePath: "\(child.folder)/\(name)"))
                #expect(store.bonds(with: peer) == [.planted(5, with: peer)])
            }
        }
    }

    @Test func `a file that was being set aside when its program was killed is set aside once`() async throws {
        try await withBonds { child, _ in
            let path = "\(child.folder)/\(name)"
            try Data([1]).write(to: URL(filePath: path))
            try #require(link(path, "\(path).1") == 0)
            let store = PeerStore(folder: child.folder) { _ in }
            #expect(store.bonds(with: peer).isEmpty)
            let names = try FileManager.default.contentsOfDirectory(atPath: child.folder)
            #expect(names.filter { $0.hasPrefix(name) } == ["\(name).1"])
        }
    }

    @Test(
        .enabled(if: StoreChild.canFollow, "this system lets nobody follow a child"),
        arguments: [ENOSPC, EIO, EPERM]
    )
    func `a damaged file is named when it is set aside, whichever system call fails then`(error: Int32) async throws {
        try await StoreChild.with { child in
            let path = "\(child.folder)/\(name)"
            for call in 1... {
                for place in [path, "\(path).1"] { try? FileManager.default.removeItem(atPath: place) }
                await child.remember(.planted(1, with: peer))
                try Data([1]).write(to: URL(filePath: path))
                let end = try child.run(2, failing: call, with: error)
                let note: Comment = "call \(call), number \(end.failedCall ?? -1), failed; it said: \(end.errors)"
                #expect(end.hasEnded && end.status == 1, note)
                // Unless that line itself could not be written.
                let isTold = end.errors.contains("it was set aside as \(path).1") || end.errors.isEmpty
                let isThere = (try? Data(contentsOf: URL(filePath: path))) == Data([1])
                #expect(isTold || isThere, note)
                // A file system without links refuses them so.
                #expect(error != EPERM || !end.errors.contains("blestreams: set aside "), note)
                guard end.failedCall == nil else { continue }
                #expect(call > 8 && isTold && !isThere, note)
                #expect(try child.number() == 2, note)
                break
            }
        }
    }
}
