import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Several programs, a full disk that has room again, and other users of the machine.
@Suite(.timeLimit(.minutes(10))) struct SharedStoreTests {
    private let peer = StoreChild.peer
    private let other = StoreChild.other
    private let name = "C4-F2-17-1A-1D-BB-random.json"

    @Test(.enabled(if: StoreChild.canFollow, "this system lets nobody follow a child"))
    func `programs that write at once, for one device and for several, lose nothing of each other's`()
        async throws
    {
        try await StoreChild.with { child in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...8 {
                    group.addTask {
                        let end = try child.run(UInt8(number))
                        #expect(end.status == 0, "\(end.errors)")
                    }
                    let bond = Bond.planted(UInt8(number), with: device(number))
                    group.addTask { await child.remember(bond) }
                }
                try await group.waitForAll()
            }
            #expect((1...8).contains(try #require(try child.number())))
            for number in 1...8 { #expect(try child.number(of: device(number)) == UInt8(number)) }
        }
    }

    private func device(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0xC000_0000_0000 + UInt64(number), kind: .random)
    }

    /// A store that waits for the lock for a second, with what it warns of and the limit of each wait.
    private func patientStore(
        of child: StoreChild
    ) -> (store: PeerStore, warnings: Recorder<BLEError>, limits: Recorder<Duration>) {
        let (warnings, limits) = (Recorder<BLEError>(), Recorder<Duration>())
        let store = PeerStore(folder: child.folder, patience: .seconds(1)) {
            warnings.add($0)
        } onLock: {
            limits.add($0)
        }
        return (store, warnings, limits)
    }

    /// Waits until a store has tried what it was told, as a pairing does: a flush would also try all that is missing.
    private func written(_ store: PeerStore) async {
        await withCheckedContinuation { continuation in
            store.whenWritten(on: RealTimeline()) { continuation.resume() }
        }
    }

    @Test func `a bond that could not be written is known however much else of its peer could not be since`() async {
        let store = PeerStore(folder: "/dev/null/blestreams") { _ in }
        let bond = Bond.planted(1, with: peer)
        store.remember(bond)
        for _ in 0..<40 {
            // As what a central has configured, or the plan of a session that is ready again.
            store.update(peer, isLasting: true) { _ in }
            await store.flush()
        }
        #expect(store.bonds(with: peer) == [bond])
        store.forgetBonds(with: peer)
        for _ in 0..<40 {
            store.update(peer, isLasting: true) { _ in }
            await store.flush()
        }
        #expect(store.bonds(with: peer).isEmpty)
    }

    @Test func `a bond that could not be written is known meanwhile, and is written when that is possible again`()
        async throws
    {
        try await StoreChild.with { child in
            // What is in the way of the folder is as good as a full disk.
            let parent = (child.folder as NSString).deletingLastPathComponent
            try Data().write(to: URL(filePath: parent))
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            store.remember(.planted(1, with: peer))
            store.update(peer) { $0.services = ServicesRecord(databaseHash: Data(), services: []) }
            await store.flush()
            await store.flush()
            #expect(warnings.all.count == 1, "told once: \(warnings.all)")
            #expect(store.bonds(with: peer) == [.planted(1, with: peer)] && store.peers() == [peer])
            #expect(store.record(of: peer).services == nil, "found out afresh")
            for number: UInt8 in 2...100 {
                store.remember(.planted(number, with: peer))
                await store.flush()
            }
            try FileManager.default.removeItem(atPath: parent)
            await store.flush()
            #expect(try child.number() == 100)
        }
    }

    @Test func `a bond that could not be written is written with the next change of another peer`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            try child.fillDisk()
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            store.remember(.planted(1, with: peer))
            await store.flush()
            #expect(warnings.all.count == 1 && store.failure(of: peer) != nil, "\(warnings.all)")
            try child.freeDisk()
            // Twice: the second waits for what the first has led to.
            for _ in 0..<2 {
                store.remember(.planted(8, with: other))
                await written(store)
            }
            #expect(try child.number() == 1 && child.number(of: other) == 8)
            #expect(store.failure(of: peer) == nil)
        }
    }

    @Test func `what would leave a file as it is needs no room, and is not remembered for later`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            try child.fillDisk()
            let store = PeerStore(folder: child.folder) { _ in }
            for number in 1...20 {
                // As the update of a device of which nothing is known, the end of its session, and its unpairing.
                store.forgetServices(of: device(number))
                store.update(device(number), isLasting: true) { $0.sessions = [] }
                store.forgetBonds(with: device(number))
            }
            store.forgetBonds(with: other)
            store.remember(.planted(1, with: peer))
            await store.flush()
            #expect(Set(store.changedPeers) == [peer, other])
            #expect((1...20).allSatisfy { store.bondFailure(of: device($0)) == nil })
            try child.freeDisk()
            await store.flush()
            #expect(try child.number() == 1 && child.number(of: other) == nil)
        }
    }

    @Test func `a bond that is made while another change of its peer fails is tried, and known not to be written`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            try child.fillDisk()
            let bond = Bond.planted(1, with: peer)
            let meanwhile = Recorder<@Sendable () -> Void>()
            let store = PeerStore(folder: child.folder, patience: .zero) { _ in
            } onLock: { _ in
                let changes = meanwhile.all
                meanwhile.forget()
                for change in changes { change() }
            }
            meanwhile.add { store.remember(bond) }
            // What a link has learned, and nobody keeps.
            store.update(peer) { $0.services = ServicesRecord(databaseHash: Data(), services: []) }
            await written(store)
            #expect(store.bonds(with: peer) == [bond] && store.bondFailure(of: peer) != nil)
            try child.freeDisk()
            await store.flush()
            #expect(try child.number() == 1)
            #expect(store.bondFailure(of: peer) == nil)
        }
    }

    @Test func `a program that keeps the files locked is waited for once, and named`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            let lock = open("\(child.folder)/.lock", O_RDWR | O_CLOEXEC)
            try #require(flock(lock, LOCK_EX) == 0)
            let (store, warnings, limits) = patientStore(of: child)
            store.remember(.planted(1, with: peer))
            await store.flush()
            let warning = try #require(warnings.all.first)
            #expect(warning.operation == "lock" && warning.object == "\(child.folder)/.lock")
            #expect(warning.cause.contains("(process \(getpid())) keeps it locked for more than 1 s"))
            #expect(warning.remedy.contains("kill \(getpid())"))
            #expect(store.failure(of: peer) != nil && store.bonds(with: peer) == [.planted(1, with: peer)])
            #expect(store.bonds(with: other) == [.planted(9, with: other)], "files are read all the same")
            for number: UInt8 in 2...20 {
                store.remember(.planted(number, with: device(Int(number))))
                await store.flush()
            }
            #expect(limits.all.count >= 20 && limits.all.filter { $0 > .zero } == [.seconds(1)], "\(limits.all)")
            #expect(warnings.all.count == 1, "\(warnings.all)")
            // A child that another test forks has the descriptor, too, until it executes its program.
            try #require(flock(lock, LOCK_UN) == 0)
            close(lock)
            // The thread that has waited for the lock gets it for a moment, too late, and what is tried just then fails.
            repeat { await store.flush() } while [peer, device(20)].contains { store.failure(of: $0) != nil }
            #expect(try child.number() == 1 && child.number(of: device(20)) == 20)
            #expect(store.failure(of: peer) == nil)
        }
    }

    @Test func `a lock that can't be opened is no other program's: the next change waits for one as usual`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            let lock = "\(child.folder)/.lock"
            try FileManager.default.removeItem(atPath: lock)
            // As good as a file system that can only be read for a while, or a lack of descriptors.
            try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
            let (store, warnings, limits) = patientStore(of: child)
            store.remember(.planted(1, with: peer))
            await store.flush()
            #expect(warnings.all.map(\.operation) == ["lock"] && store.failure(of: peer) != nil)
            try FileManager.default.removeItem(atPath: lock)
            await store.flush()
            #expect(try child.number() == 1)
            #expect(limits.all.count >= 2 && limits.all.allSatisfy { $0 == .seconds(1) }, "\(limits.all)")
        }
    }

    @Test(arguments: [0o640, 0o604, 0o644])
    func `a file that others can read is theirs no more, and the bond goes on, with a warning`(mode: Int) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(child.folder)/\(name)")
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            #expect(store.bonds(with: peer) == [.planted(1, with: peer)])
            #expect(warnings.all.map(\.cause) == ["other users could read it until now"])
            #expect(warnings.all.first?.remedy.contains("pair again") == true)
            try child.expectSecrecy("mode \(mode)")
            #expect(try child.number() == 1, "warned once")
        }
    }

    @Test(arguments: [0o620, 0o602, 0o666])
    func `a file that others can write is not used, and not replaced`(mode: Int) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            let path = "\(child.folder)/\(name)"
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let before = try Data(contentsOf: URL(filePath: path))
            try await expectRefusal(path, in: child, "other users may write to it", "Run `chmod 600 '\(path)'`")
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives a file away"))
    func `a file of another user is not used, and not replaced`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            let path = "\(child.folder)/\(name)"
            try #require(chown(path, 12_345, 12_345) == 0)
            try await expectRefusal(path, in: child, "it belongs to user 12345", "Run `chown 0 '\(path)'`")
        }
    }

    @Test func `what is no file is not waited for`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            let path = "\(child.folder)/\(name)"
            try #require(mkfifo(path, 0o600) == 0)
            try await expectRefusal(path, in: child, "it is not a regular file", "Move it away.")
        }
    }

    private func expectRefusal(_ path: String, in child: StoreChild, _ cause: String, _ remedy: String) async throws {
        let warnings = Recorder<BLEError>()
        let store = PeerStore(folder: child.folder) { warnings.add($0) }
        #expect(store.bonds(with: peer).isEmpty)
        store.update(peer) { $0.services = ServicesRecord(databaseHash: Data(), services: []) }
        await store.flush()
        let warning = try #require(warnings.all.first)
        #expect(warning.object == path && warning.cause.hasPrefix(cause) && warning.remedy.hasPrefix(remedy))
        #expect(warnings.all.count == 1, "\(warnings.all)")
        #expect(store.bonds(with: other) == [.planted(9, with: other)])
    }

    @Test func `a file that can't be used is told of once, though another peer's is written again and again`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer))
            let path = "\(child.folder)/\(name)"
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            for number: UInt8 in 1...10 {
                #expect(store.bonds(with: peer).isEmpty)
                store.remember(.planted(number, with: other))
                await store.flush()
            }
            #expect(warnings.all.map(\.object) == [path], "\(warnings.all)")
            // What is written after the file was mended shows that it was; a new problem is news.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            store.remember(.planted(2, with: peer))
            await store.flush()
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            #expect(store.bonds(with: peer).isEmpty && warnings.all.map(\.object) == [path, path])
        }
    }

    @Test func `however many files can't be used, each link doesn't tell of them again`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: other))
            for number in 1...300 {
                let path = "\(child.folder)/" + "\(device(number))".replacing(":", with: "-") + "-random.json"
                try Data().write(to: URL(filePath: path))
                // As in a copy that root has made.
                try #require(chmod(path, 0o666) == 0)
            }
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            for number: UInt8 in 1...5 {
                #expect(store.bonds().count == 1, "each link reads all")
                store.remember(.planted(number, with: other))
                await store.flush()
            }
            // The others have the same cause.
            #expect(warnings.all.count == ToldProblems.most + 1)
            #expect(Set(warnings.all.map(\.cause)) == ["other users may write to it"])
        }
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root makes links of other users"),
        arguments: ["state", "state/blestreams"]
    )
    func `a link of another user in place of the folder, or above it, is not followed`(place: String) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer))
            let parent = String(child.folder.dropLast("state/blestreams".count))
            try FileManager.default.moveItem(atPath: parent + place, toPath: parent + "elsewhere")
            let target = place.contains("/") ? "../elsewhere" : "elsewhere"
            try #require(symlink(target, parent + place) == 0)
            #expect(try child.number() == 1, "one's own link is a choice")
            try #require(lchown(parent + place, 12_345, 12_345) == 0)
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            #expect(store.bonds(with: peer).isEmpty)
            #expect(warnings.all.map(\.cause) == ["it is a symbolic link of user 12345"])
            #expect(warnings.all.first?.object == parent + place)
        }
    }
}
