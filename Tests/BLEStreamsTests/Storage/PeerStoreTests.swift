import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

struct PeerStoreTests {
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private let other = BluetoothAddress(rawValue: 0x00AA_0101_0001, kind: .public)

    private func bond(_ first: UInt8 = 1) throws -> Bond {
        let key = try #require(SecretKey(octets: (0..<16).map { first + $0 }))
        let encryption = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 7, random: .max, value: key)
        return Bond(peer: peer, adapter: other, encryptionKeys: [encryption], identityKey: key)
    }

    private func note(_ bond: Bond) -> PeerStore.Change { { $0.bonds = [BondRecord(bond)] } }

    @Test func `what was written is read by the next program, keys and all`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder)
            let bond = try bond()
            store.update(peer, note(bond))
            #expect(store.record(of: peer).bonds?.first?.bond(with: peer) == bond, "before it is on the disk")
            await store.flush()
            let next = PeerStore(folder: folder)
            #expect(next.record(of: peer).bonds?.first?.bond(with: peer) == bond)
            #expect(next.peers() == [peer])
            #expect(next.record(of: other).isEmpty)
        }
    }

    @Test func `nobody else can read the files`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder)
            store.update(peer, note(try bond()))
            await store.flush()
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(names.sorted() == [".lock", "C4-F2-17-1A-1D-BB-random.json"])
            for name in names {
                let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.posixPermissions]
                #expect(mode as? Int == 0o600, "\(name)")
            }
            let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions]
            #expect(mode as? Int == 0o700)
        }
    }

    @Test(arguments: ["", "{", "[]", #"{"version":1}"#, #"{"version":2,"peer":"x","record":{}}"#])
    func `a file that makes no sense is set aside, and the rest goes on`(contents: String) async throws {
        try await withFolder { folder in
            let name = "\(folder)/C4-F2-17-1A-1D-BB-random.json"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(contents.utf8).write(to: URL(filePath: name))
            let warnings = Mutex<[String]>([])
            let store = PeerStore(folder: folder) { error in warnings.withLock { $0.append("\(error)") } }
            #expect(store.record(of: peer).isEmpty)
            let told = warnings.withLock { $0 }
            #expect(told.count == 1 && told.first?.contains("set aside as \(name).1") == true, "\(told)")
            let kept = try String(contentsOfFile: "\(name).1", encoding: .utf8)
            #expect(kept == contents)
            store.update(peer, note(try bond()))
            await store.flush()
            #expect(PeerStore(folder: folder).record(of: peer).bonds?.count == 1)
        }
    }

    @Test(arguments: [#"{"version":3,"peer":"x","record":{}}"#, #"{"version":4,"all":"different"}"#])
    func `a file that a later version has written stays as it is`(contents: String) async throws {
        try await withFolder { folder in
            let name = "\(folder)/C4-F2-17-1A-1D-BB-random.json"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(contents.utf8).write(to: URL(filePath: name))
            let warnings = Mutex<[BLEError]>([])
            let store = PeerStore(folder: folder) { error in warnings.withLock { $0.append(error) } }
            #expect(store.record(of: peer).isEmpty)
            store.update(peer, isLasting: true, note(try bond()))
            await store.flush()
            let told = try #require(warnings.withLock { $0.first })
            #expect(told.object == name && told.cause.contains("version") && told.remedy.contains("has written it"))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("C4") }.count == 1
            )
            #expect(try String(contentsOfFile: name, encoding: .utf8) == contents)
            // Until that is settled, the bond is known to this program only.
            #expect(store.record(of: peer).bonds?.count == 1 && store.failure(of: peer) != nil)
            try FileManager.default.moveItem(atPath: name, toPath: "\(name).later")
            await store.flush()
            #expect(PeerStore(folder: folder).record(of: peer).bonds?.count == 1)
        }
    }

    @Test func `two programs that change one file lose nothing of each other's`() async throws {
        try await withFolder { folder in
            let first = PeerStore(folder: folder)
            let second = PeerStore(folder: folder)
            let change: PeerStore.Change = { [bond = try bond()] record in
                record.bonds = (record.bonds ?? []) + [BondRecord(bond)]
            }
            for _ in 0..<50 {
                first.update(peer, change)
                second.update(peer, change)
            }
            await first.flush()
            await second.flush()
            #expect(PeerStore(folder: folder).record(of: peer).bonds?.count == 100)
        }
    }

    @Test func `a peer of which nothing is known any more has no file`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder)
            store.update(peer, note(try bond()))
            store.update(peer) { $0.bonds = nil }
            #expect(store.peers().isEmpty)
            await store.flush()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [".lock"])
        }
    }

    @Test func `a problem that recurs with each link is told the first time, the tenth, and the hundredth`()
        async throws
    {
        try await withFolder { folder in
            let warnings = Mutex<[String]>([])
            let store = PeerStore(folder: folder) { error in warnings.withLock { $0.append(error.object) } }
            for _ in 1...120 {
                for name in ["with A", "with B"] {
                    store.warn(BLEError(.securityFailed, operation: "encrypt link", object: name, cause: "it failed"))
                }
                // A link also writes what it has learned.
                store.update(peer) { $0.services = ServicesRecord(databaseHash: Data(), services: []) }
                await store.flush()
            }
            let told = warnings.withLock { $0 }
            #expect(told == ["with A", "with B", "with A", "with B", "with A", "with B"])
        }
    }

    @Test func `one that comes under a new address with each link fills no log`() async throws {
        try await withFolder { folder in
            let warnings = Mutex<[String]>([])
            let store = PeerStore(folder: folder) { error in warnings.withLock { $0.append(error.object) } }
            let warn = { (number: Int, cause: String) in
                store.warn(BLEError(.securityFailed, operation: "encrypt link", object: "with \(number)", cause: cause))
            }
            for number in 1...1256 { warn(number, "it failed") }
            warn(2000, "it failed in another way")
            await store.flush()
            let told = warnings.withLock { $0 }
            let others = [257, 266, 356, 1256, 2000]
            #expect(told == (Array(1...256) + others).map { "with \($0)" })
        }
    }

    @Test func `a full disk is told of once, and not at each link behind which the file may stay as it is`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: StoreChild.peer))
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            for links in 1...3 {
                // What the end of a link stores: from then on, nothing can be written.
                store.update(StoreChild.peer) { record in
                    try? child.fillDisk()
                    record.ownIdentityKey = Data([1])
                }
                await store.flush()
                #expect(warnings.all.count == 1, "\(links): \(warnings.all)")
                // It stands in the way of whoever locks the folder, too, which a full disk doesn't.
                try child.freeDisk()
                // What the next link removes again: it isn't there.
                store.update(StoreChild.peer) { $0.ownIdentityKey = nil }
                await store.flush()
            }
            // What is written shows that there was room; that there is none again is news.
            store.remember(.planted(2, with: StoreChild.peer))
            await store.flush()
            #expect(try child.number() == 2)
            store.update(StoreChild.peer) { record in
                try? child.fillDisk()
                record.ownIdentityKey = Data([1])
            }
            await store.flush()
            #expect(warnings.all.map(\.operation) == ["write", "write"])
        }
    }

    @Test func `a folder that can't be made is a warning that names it`() async throws {
        let warnings = Mutex<[BLEError]>([])
        let store = PeerStore(folder: "/dev/null/blestreams") { error in warnings.withLock { $0.append(error) } }
        store.update(peer, note(try bond()))
        await store.flush()
        let told = warnings.withLock { $0 }
        #expect(told.contains { $0.object.hasPrefix("/dev/null/blestreams") && !$0.remedy.isEmpty }, "\(told)")
    }

    @Test func `without a folder everything goes with the store`() throws {
        let store = PeerStore.inMemory()
        store.update(peer, note(try bond()))
        #expect(store.peers() == [peer] && store.record(of: peer).bonds?.count == 1)
        #expect(PeerStore.inMemory().peers().isEmpty)
    }

    @Test func `no key is printed`() throws {
        let bond = try bond(0xA0)
        let key = try #require(bond.identityKey)
        let octets = key.octets.map { String($0) }.joined(separator: ", ")
        #expect(!"\(bond)".contains(octets) && !String(reflecting: bond).contains("160"))
        var dumped = ""
        dump(bond, to: &dumped)
        #expect(!dumped.contains("160") && dumped.contains("C4:F2:17:1A:1D:BB"))
    }
}
