import BLEProtocol
import BLERadio
import Foundation
import Synchronization
import Testing

@testable import BLEStreams

/// All bonds of a store, and the files that asking for them reads; and how many strangers' files there are.
@Suite(.timeLimit(.minutes(10))) struct StoreIndexTests {
    private static let adapter = BluetoothAddress(rawValue: 0x00AA_0101_0001, kind: .public)

    private static func peer(_ number: UInt64) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random)
    }

    private func bond(_ number: UInt64, key first: UInt8 = 1) throws -> Bond {
        let key = try #require(SecretKey(octets: (0..<16).map { first + $0 }))
        let encryption = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 7, random: .max, value: key)
        return Bond(peer: Self.peer(number), adapter: Self.adapter, encryptionKeys: [encryption], identityKey: key)
    }

    private let services = ServicesRecord(databaseHash: Data(), services: [])

    /// How often files were touched since the last time.
    private final class Accesses: Sendable {
        private let count = Mutex(0)
        func add() { count.withLock { $0 += 1 } }
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    @Test func `only files that have changed are read again, whoever has changed them`() async throws {
        try await withFolder { folder in
            let accesses = Accesses()
            let store = PeerStore(folder: folder) { accesses.add() }
            for number in 1...20 { store.remember(try bond(UInt64(number))) }
            await store.flush()
            let expected = try (1...20).map { try bond(UInt64($0)) }
            _ = accesses.take()
            #expect(store.bonds() == expected && accesses.take() == 21, "the folder, and each file")
            #expect(store.bonds() == expected && accesses.take() == 1, "the folder")

            let other = PeerStore(folder: folder)
            other.remember(try bond(7, key: 99))
            other.forgetBonds(with: Self.peer(8))
            other.remember(try bond(21))
            await other.flush()
            var changed = expected
            changed[6] = try bond(7, key: 99)
            changed.remove(at: 7)
            changed.append(try bond(21))
            #expect(store.bonds() == changed && accesses.take() == 3, "the folder, one that changed, and a new one")
        }
    }

    @Test func `what is not yet on disk counts, and what can't be`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder) { _ in }
            store.remember(try bond(1))
            #expect(store.bonds() == [try bond(1)])
            await store.flush()
            store.forgetBonds(with: Self.peer(1))
            #expect(store.bonds().isEmpty)
            await store.flush()
            #expect(store.bonds().isEmpty)
        }
        let store = PeerStore.inMemory()
        store.remember(try bond(2))
        store.remember(try bond(1))
        #expect(store.bonds() == [try bond(1), try bond(2)])
    }

    @Test func `a damaged file hides no other, and its good successor is read`() async throws {
        try await withFolder { folder in
            let warnings = Mutex(0)
            let store = PeerStore(folder: folder) { _ in warnings.withLock { $0 += 1 } }
            for number in 1...3 { store.remember(try bond(UInt64(number))) }
            await store.flush()
            #expect(store.bonds().count == 3)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
            let name = try #require(names.min())
            try Data("{".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
            let rest = [try bond(2), try bond(3)]
            #expect(store.bonds() == rest && store.bonds() == rest)
            #expect(warnings.withLock { $0 } == 1)
            store.remember(try bond(1, key: 50))
            await store.flush()
            #expect(store.bonds() == [try bond(1, key: 50)] + rest)
        }
    }

    @Test func `a damaged file is told of, whoever reads it first`() async throws {
        try await withFolder { folder in
            let before = PeerStore(folder: folder)
            before.remember(try bond(1))
            await before.flush()
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
            try Data("{".utf8).write(to: URL(filePath: "\(folder)/\(try #require(names.first))"))
            let warnings = Mutex<[String]>([])
            let store = PeerStore(folder: folder) { error in warnings.withLock { $0.append(error.cause) } }
            store.update(Self.peer(2)) { $0.services = services }
            await store.flush()
            let told = warnings.withLock { $0 }
            #expect(told.count == 1 && told.first?.contains("set aside") == true)
        }
    }

    @Test func `the services of strangers that were written longest ago are forgotten, and nothing else`() async throws
    {
        try await withFolder { folder in
            let accesses = Accesses()
            let store = PeerStore(folder: folder, strangers: 32) { accesses.add() }
            store.remember(try bond(1))
            store.update(Self.peer(1)) { $0.services = services }
            for number in 2...33 {
                store.update(Self.peer(UInt64(number))) { $0.services = services }
                await store.flush()
            }
            #expect(store.peers().count == 33, "as many as are kept")
            store.update(Self.peer(34)) { $0.services = services }
            await store.flush()
            // The oldest one, and two more for the next to come.
            #expect(store.peers() == ([1] + Array(5...34)).map { Self.peer($0) })
            #expect(store.record(of: Self.peer(1)).services == services)
            #expect(store.bonds() == [try bond(1)])
            // Only a new stranger is a reason to count them all.
            let others = ServicesRecord(databaseHash: Data([1]), services: [])
            for (number, touched) in [(5, 1), (35, 4)] {
                _ = accesses.take()
                store.update(Self.peer(UInt64(number))) { $0.services = others }
                await store.flush()
                #expect(accesses.take() == touched, "peer \(number)")
            }
        }
    }

    @Test func `it is not the new strangers that are forgotten when the clock was set back`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder, strangers: 32) {}
            for number in 1...32 { store.update(Self.peer(UInt64(number))) { $0.services = services } }
            await store.flush()
            // As by a clock that was years ahead.
            let later = timeval(tv_sec: time(nil) + 10 * 365 * 86_400, tv_usec: 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".json") {
                try #require(utimes("\(folder)/\(name)", [later, later]) == 0)
            }
            for number in 33...60 {
                store.update(Self.peer(UInt64(number))) { $0.services = services }
                await store.flush()
            }
            #expect(store.peers().count <= 32)
            #expect(Set(store.peers()).isSuperset(of: (33...60).map { Self.peer($0) }))
        }
    }

    @Test func `a store in memory keeps no more strangers than a folder, and all bonds`() throws {
        let store = PeerStore.inMemory()
        store.remember(try bond(1))
        store.update(Self.peer(1)) { $0.services = services }
        let limit = UInt64(PeerFolder.usualStrangers)
        for number in 2...(limit + 11) { store.update(Self.peer(number)) { $0.services = services } }
        let kept: [UInt64] = [1] + Array(12...(limit + 11))
        #expect(store.peers() == kept.map { Self.peer($0) })
        #expect(store.bonds() == [try bond(1)])
        #expect(store.record(of: Self.peer(1)).services == services)
        // One that was met again counts as new, and one with a bond is no stranger any more.
        let others = ServicesRecord(databaseHash: Data([1]), services: [])
        store.update(Self.peer(12)) { $0.services = others }
        store.remember(try bond(13))
        for number in (limit + 12)...(limit + 13) { store.update(Self.peer(number)) { $0.services = services } }
        #expect(store.record(of: Self.peer(12)).services == others && store.record(of: Self.peer(14)).isEmpty)
        #expect(store.record(of: Self.peer(13)).services == services)
        #expect(store.peers().count == Int(limit) + 2)
    }

    @Test func `a stranger that has more attributes than devices do takes no room`() async throws {
        let service = ServicesRecord.Service(
            uuid: "180F",
            isPrimary: true,
            handle: 1,
            endHandle: 1,
            includes: [],
            characteristics: []
        )
        let most = ServicesRecord(databaseHash: Data(), services: Array(repeating: service, count: 2048))
        let more = ServicesRecord(databaseHash: Data(), services: Array(repeating: service, count: 2049))
        try await withFolder { folder in
            for store in [PeerStore(folder: folder), PeerStore.inMemory()] {
                store.update(Self.peer(1)) { $0.services = most }
                store.update(Self.peer(2)) { $0.services = more }
                // What was known of it before is as wrong.
                store.update(Self.peer(3)) { $0.services = most }
                store.update(Self.peer(3)) { $0.services = more }
                store.remember(try bond(4))
                store.update(Self.peer(4)) { $0.services = more }
                await store.flush()
                #expect(store.peers() == [Self.peer(1), Self.peer(4)])
                #expect(store.record(of: Self.peer(1)).services == most)
                #expect(store.record(of: Self.peer(4)).services == more)
            }
        }
    }

    @Test func `a folder with far too many strangers is put in order step by step`() async throws {
        try await withFolder { folder in
            let before = PeerStore(folder: folder)
            for number in 1...100 { before.update(Self.peer(UInt64(number))) { $0.services = services } }
            await before.flush()
            let store = PeerStore(folder: folder, strangers: 32) {}
            for number in 101...140 {
                let count = store.peers().count
                store.update(Self.peer(UInt64(number))) { $0.services = services }
                await store.flush()
                #expect(store.peers().count >= count - 3 && store.peers().contains(Self.peer(UInt64(number))))
            }
            #expect(store.peers().count <= 32)
        }
    }
}
