import BLEProtocol
import Foundation
import Testing

@testable import BLEStreams

/// A store uses no folder that somebody else could have filled, follows no link, and says what to do.
@Suite struct FolderTrustTests {
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private let file = "C4-F2-17-1A-1D-BB-random.json"

    /// Runs a body with the path of a folder that isn't there yet, and a store on it.
    private func withStore(_ body: (String, PeerStore, Recorder<BLEError>) async throws -> Void) async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID())")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        let warnings = Recorder<BLEError>()
        let folder = parent.appending(path: "state").path()
        try await body(folder, PeerStore(folder: folder) { warnings.add($0) }, warnings)
    }

    private let change: PeerStore.Change = { $0.bonds = [] }

    @Test(arguments: [0o770, 0o777, 0o702])
    func `a folder into which others may write is refused, with the command that mends it`(mode: Int) async throws {
        try await withStore { folder, store, warnings in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: URL(filePath: "\(folder)/\(file)"))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
            #expect(store.record(of: peer).isEmpty)
            #expect(store.peers().isEmpty)
            store.update(peer, change)
            await store.flush()
            let error = try #require(warnings.all.first)
            #expect(error.object == folder && error.cause == "other users may write to it")
            #expect(error.remedy.hasPrefix("Run `chmod 700 '\(folder)'`"))
            #expect(warnings.all.count == 1, "told once")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [file], "nothing was touched")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives a folder away"))
    func `a folder of another user is refused, with the command that mends it`() async throws {
        try await withStore { folder, store, warnings in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try #require(chown(folder, 12_345, 12_345) == 0)
            store.update(peer, change)
            await store.flush()
            let error = try #require(warnings.all.first)
            #expect(error.cause == "it belongs to user 12345, and this program runs as user 0")
            #expect(error.remedy.hasPrefix("Run `chown -R 0 '\(folder)'`"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func `a lock that is a link is not followed`() async throws {
        try await withStore { folder, store, warnings in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let elsewhere = folder + ".victim"
            try #require(symlink(elsewhere, "\(folder)/.lock") == 0)
            store.update(peer, change)
            await store.flush()
            let error = try #require(warnings.all.first)
            #expect(error.object == "\(folder)/.lock" && error.cause == "it is a symbolic link")
            #expect(!FileManager.default.fileExists(atPath: elsewhere))
        }
    }

    @Test func `a file that is a link is neither read nor replaced`() async throws {
        try await withStore { folder, store, warnings in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let elsewhere = folder + ".other"
            try Data(#"{"version":1,"peer":"x","record":{"bonds":[]}}"#.utf8).write(to: URL(filePath: elsewhere))
            try #require(symlink(elsewhere, "\(folder)/\(file)") == 0)
            #expect(store.record(of: peer).isEmpty)
            store.update(peer, change)
            await store.flush()
            #expect(warnings.all.map(\.cause) == ["it is a symbolic link"])
            let type = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")[.type]
            #expect(type as? FileAttributeType == .typeSymbolicLink)
        }
    }

    @Test func `of hundreds of files that others could read each is named, since none is named again`() async throws {
        try await withStore { folder, store, warnings in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var paths: Set<String> = []
            for number in 1...UInt64(ToldProblems.most + 44) {
                let peer = BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random)
                let path = "\(folder)/" + "\(peer)".replacing(":", with: "-") + "-random.json"
                let record = PeerRecord(ownIdentityKey: Data(count: 16))
                try #require(PeerFile(record, of: peer).octets).write(to: URL(filePath: path))
                // As in a copy.
                try #require(chmod(path, 0o644) == 0)
                paths.insert(path)
            }
            for _ in 0..<2 { #expect(store.bonds().isEmpty) }
            #expect(Set(warnings.all.map(\.object)) == paths && warnings.all.count == paths.count)
            #expect(Set(warnings.all.map(\.cause)) == ["other users could read it until now"])
        }
    }

    @Test func `what a service's unit keeps from being written is mended in the unit`() {
        for error in [BLEError.noFolder("/state", errno: EROFS), .store("write", "/state/a", errno: EROFS)] {
            #expect(error.remedy.contains("StateDirectory=") && !error.remedy.contains("room"), "\(error)")
            #expect(error.systemError == EROFS && error.object.hasPrefix("/state"))
        }
        for number in [EMFILE, ENFILE] {
            let error = BLEError.store("open", "/state", errno: number)
            #expect(error.remedy.contains("LimitNOFILE=") && !error.remedy.contains("room"), "\(error)")
        }
        #expect(BLEError.noFolder("/state", errno: ENOSPC).remedy.contains("the disk has room"))
    }

    @Test func `what a file system without locks needs, such as NFS without their service, is not room`() {
        for number in [ENOLCK, EOPNOTSUPP] {
            let error = BLEError.store("lock", "/state/.lock", errno: number)
            #expect(error.remedy.contains("local_lock=flock") && !error.remedy.contains("room"), "\(error)")
        }
    }

    @Test(arguments: [
        (["STATE_DIRECTORY": "/var/lib/gateway", "XDG_STATE_HOME": "/x"], "/var/lib/gateway/blestreams"),
        (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], "/var/lib/a/blestreams"),
        (["STATE_DIRECTORY": "", "XDG_STATE_HOME": "/x"], "/x/blestreams"),
        (["XDG_STATE_HOME": "relative", "HOME": "/home/ann"], "/home/ann/.local/state/blestreams"),
        (["HOME": ""], "/var/lib/.local/state/blestreams"),
    ])
    func `a service's own folder comes first`(environment: [String: String], path: String) {
        #expect(PeerFolder.standardPath { environment[$0] } == path)
    }
}
