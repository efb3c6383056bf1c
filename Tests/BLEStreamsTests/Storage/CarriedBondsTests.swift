import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Bonds that are carried from one store to another, by a file of ours or out of bluetoothd's.
@Suite(.timeLimit(.minutes(10))) struct CarriedBondsTests {
    private let peer = StoreChild.peer
    private let other = StoreChild.other

    private func withFile(_ body: (String) async throws -> Void) async throws {
        try await StoreChild.with { child in
            let parent = URL(filePath: child.folder).deletingLastPathComponent().path()
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try await body("\(parent)/bonds.json")
        }
    }

    @Test func `what is exported is imported elsewhere, and encrypts the link`() async throws {
        try await withFile { path in
            try await Bench.run { bench in
                try await bench.peripheral.withLink { try await $0.pair() }
                try Bond.export(bench.central.bonds, to: path)
                bench.centralAdapter.forgetBonds()
                let next = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
                try await next.adopt(Bond.imported(from: path))
                #expect(try next.bonds == bench.central.bonds)
                try await next.peripheral(bench.peripheralAdapter.address).withLink { link in
                    #expect(link.security.isEncrypted)
                }
            }
        }
    }

    @Test func `the file is this user's alone, and nothing is overwritten, not even a terminal`() async throws {
        try await withFile { path in
            try Bond.export([.planted(1, with: peer)], to: path)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            let before = try Data(contentsOf: URL(filePath: path))
            try #require(symlink(path + ".elsewhere", path + ".link") == 0)
            for path in [path, path + ".link", "/dev/tty", "/dev/stdout", "/dev/null"] {
                let error = #expect(throws: BLEError.self) { try Bond.export([.planted(2, with: peer)], to: path) }
                #expect(error?.systemError == EEXIST && error?.object == path && error?.remedy.isEmpty == false)
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
            #expect(!FileManager.default.fileExists(atPath: path + ".elsewhere"))
        }
    }

    @Test func `a file that is cut off, is none of bonds, or that others could write is not imported`() async throws {
        try await withFile { path in
            try Bond.export([.planted(1, with: peer)], to: path)
            let whole = try Data(contentsOf: URL(filePath: path))
            for length in stride(from: 0, to: whole.count, by: 7) {
                try whole.prefix(length).write(to: URL(filePath: path))
                let error = #expect(throws: BLEError.self) { try Bond.imported(from: path) }
                #expect(error?.code == .malformedValue && Planted.shown(by: error as Any).isEmpty)
            }
            for index in whole.indices {
                var changed = whole
                changed[index] ^= 1
                let bonds = BondFile(changed)?.content
                #expect(bonds == nil || bonds == [.planted(1, with: peer)], "octet \(index)")
            }
            try whole.write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o620], ofItemAtPath: path)
            let error = #expect(throws: BLEError.self) { try Bond.imported(from: path) }
            #expect(error?.cause == "other users may write to it")
            #expect(throws: BLEError.self) { try Bond.imported(from: "/dev/zero") }
        }
    }

    @Test func `what is no file of bonds at all says what it is`() async throws {
        try await withFile { path in
            for (other, cause) in [("/", "it is a folder"), ("/dev/zero", "it is not a regular file")] {
                let error = #expect(throws: BLEError.self) { try Bond.imported(from: other) }
                #expect(error?.code == .malformedValue && error?.cause == cause && error?.remedy.isEmpty == false)
            }
            try Data(count: 4 << 20 | 1).write(to: URL(filePath: path))
            let error = #expect(throws: BLEError.self) { try Bond.imported(from: path) }
            #expect(error?.code == .malformedValue && error?.cause == "it has more than 4194304 octets")
        }
    }

    @Test func `a bond with other keys is replaced only where that is said`() async throws {
        let store = PeerStore.inMemory()
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()), store: store)
            try await central.adopt([.planted(1, with: peer)])
            try await central.adopt([.planted(1, with: peer)])
            let error = await #expect(throws: BLEError.self) {
                try await central.adopt([.planted(2, with: other), .planted(2, with: peer)])
            }
            #expect(error?.code == .securityFailed && error?.object.contains("\(peer)") == true)
            #expect(try central.bonds == [.planted(1, with: peer)], "all or none")
            try await central.adopt([.planted(2, with: peer)], replacing: true)
            #expect(try central.bonds == [.planted(2, with: peer)])
        }
    }

    @Test func `of two bonds with different keys none replaces the other unless that is said`() async throws {
        let store = PeerStore.inMemory()
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()), store: store)
            let bonds: [Bond] = [.planted(1, with: peer), .planted(1, with: other), .planted(2, with: peer)]
            let error = await #expect(throws: BLEError.self) { try await central.adopt(bonds) }
            #expect(error?.code == .securityFailed && error?.object.contains("\(peer)") == true)
            #expect(try central.bonds.isEmpty, "all or none")
            // The same one twice is no other one.
            try await central.adopt([bonds[0], bonds[1], bonds[0]])
            #expect(try Set(central.bonds) == Set(bonds.prefix(2)))
            try await central.adopt(bonds, replacing: true)
            #expect(try Set(central.bonds) == Set(bonds.suffix(2)))
        }
    }

    /// Keeps what it is given to restore.
    private struct Keeping: IdleRadio {
        let given = Recorder<[Bond]>()

        func restore(
            _ bonds: [Bond],
            result: @escaping @Sendable (Result<Void, BLEError>) -> Void
        ) -> RadioActivity {
            given.add(bonds)
            result(.success(()))
            return RadioActivity {}
        }
    }

    @Test func `an adapter is told in place of which keys a bond was put`() async throws {
        let radio = Keeping()
        let central = try await Central.open(.radio(radio), store: .inMemory())
        try await central.adopt([.planted(1, with: peer), .planted(1, with: other)])
        #expect(radio.given.all.isEmpty)
        try await central.adopt([.planted(2, with: peer)], replacing: true)
        let given = try #require(radio.given.all.first)
        let keys = given.first { $0.peer == peer }.map { ($0.encryptionKeys, $0.formerKeys) }
        #expect(keys?.0 == Bond.planted(2, with: peer).encryptionKeys)
        #expect(keys?.1 == Bond.planted(1, with: peer).encryptionKeys)
        #expect(given.first { $0.peer == other }?.formerKeys == [])
        #expect(try central.bonds.allSatisfy { $0.formerKeys.isEmpty })
    }

    @Test func `a task that is cancelled adopts bonds all the same, and the adapter is told`() async throws {
        let radio = Keeping()
        let central = try await Central.open(.radio(radio), store: .inMemory())
        try await central.adopt([.planted(1, with: peer)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask { try await central.adopt([.planted(2, with: peer)], replacing: true) }
            try await group.waitForAll()
        }
        let given = radio.given.all.first?.first
        #expect(given?.formerKeys == Bond.planted(1, with: peer).encryptionKeys)
        #expect(try central.bonds == [.planted(2, with: peer)])
    }

    @Test func `a bond that can't be written is not adopted in silence`() async throws {
        try await VirtualTime.run { time in
            let store = PeerStore(folder: "/dev/null/blestreams") { _ in }
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()), store: store)
            let error = await #expect(throws: BLEError.self) { try await central.adopt([.planted(1, with: peer)]) }
            #expect(error?.code == .systemFailure && error?.object.hasPrefix("/dev/null") == true)
        }
    }

    @Test(arguments: [nil, 7] as [UInt8?])
    func `of bonds of which one can't be written none is adopted, neither then nor later`(
        madeMeanwhile number: UInt8?
    ) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer))
            let made = number.map { Bond.planted($0, with: peer) }
            let changes = Recorder<Duration>()
            let store = PeerStore(folder: child.folder, patience: .zero) { _ in
            } onLock: { limit in
                changes.add(limit)
                guard changes.all.count == 2 else { return }
                if let made {
                    // By another program, which pairs anew.
                    var notice: BLEError?
                    _ = try? PeerFolder(path: child.folder).change(made.peer, isPatient: true, &notice) { record in
                        record.bonds = [BondRecord(made)]
                    }
                }
                try? child.fillDisk()
            }
            try await VirtualTime.run { time in
                let central = try await Central.open(.radio(SimulatedAir(time).adapter()), store: store)
                let error = await #expect(throws: BLEError.self) {
                    try await central.adopt([.planted(2, with: peer), .planted(2, with: other)], replacing: true)
                }
                #expect(error?.code == .systemFailure)
                #expect(try central.bonds == [made ?? .planted(1, with: peer)])
            }
            try child.freeDisk()
            await store.flush()
            #expect(PeerStore(folder: child.folder).bonds() == [made ?? .planted(1, with: peer)])
        }
    }

    // MARK: - bluetoothd's

    /// The files of devices below the folder of one adapter, by their names.
    private func imported(_ files: [String: String]) throws -> [Bond] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluetoothd-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let device = folder.appending(path: "00:AA:01:01:00:01/\(name)")
            try FileManager.default.createDirectory(at: device, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: device.appending(path: "info"))
        }
        // What is no device.
        try FileManager.default.createDirectory(
            at: folder.appending(path: "00:AA:01:01:00:01/cache"),
            withIntermediateDirectories: true
        )
        return try Bond.importedFromBluetoothd(in: folder.path())
    }

    private let general = "[General]\nName=Lock\nAddressType=static\nSupportedTechnologies=LE;\n"

    @Test func `the key of LE Secure Connections stands there twice, and is one`() throws {
        let key = "Key=00112233445566778899AABBCCDDEEFF\nAuthenticated=3\nEncSize=16\nEDiv=0\nRand=0\n"
        let identity = "[IdentityResolvingKey]\nKey=0F0E0D0C0B0A09080706050403020100\n"
        let text = "\(general)\n\(identity)\n[PeripheralLongTermKey]\n\(key)\n[SlaveLongTermKey]\n\(key)\n"
        let bond = try #require(try imported(["C4:F2:17:1A:1D:BB": text]).first)
        #expect(bond.peer == peer && bond.adapter == Bond.plantedAdapter && bond.isAuthenticated)
        #expect(bond.encryptionKeys.count == 1)
        let found = try #require(bond.encryptionKeys.first)
        #expect(found.value.octets == (0..<16).map { $0 * 0x11 } && found.kind == 3 && found.initiator == 0)
        #expect(bond.identityKey?.octets == (0..<16).reversed())
    }

    @Test func `the two keys of a legacy pairing are told apart`() throws {
        let ours = """
            [LongTermKey]
            Key=000102030405060708090A0B0C0D0E0F
            Authenticated=0
            EncSize=7
            EDiv=65535
            Rand=18446744073709551615

            """
        let theirs = """
            [SlaveLongTermKey]
            Key=101112131415161718191A1B1C1D1E1F
            Authenticated=1
            EncSize=16
            EDiv=7
            Rand=9

            """
        let text = general.replacing("static", with: "public") + ours + theirs
        let bond = try #require(try imported(["C4:F2:17:1A:1D:BB": text]).first)
        #expect(bond.peer.kind == .public)
        let facts = bond.encryptionKeys.map { [UInt64($0.kind), UInt64($0.initiator), UInt64($0.size), $0.random] }
        #expect(facts == [[0, 1, 7, .max], [1, 0, 16, 9]])
        #expect(bond.encryptionKeys.map(\.diversifier) == [65_535, 7])
    }

    @Test func `devices without a bond for Low Energy, and the debuggers' key, are left out`() throws {
        let classic = "[General]\nName=Headset\n\n[LinkKey]\nKey=00112233445566778899AABBCCDDEEFF\nType=4\n"
        let debug = general + "[LongTermKey]\nKey=00112233445566778899AABBCCDDEEFF\nAuthenticated=4\nEncSize=16\n"
        #expect(try imported(["C4:F2:17:1A:1D:BB": classic, "C4:F2:17:1A:1D:BC": debug]).isEmpty)
        #expect(try imported(["C4:F2:17:1A:1D:BB": general, "C4:F2:17:1A:1D:BC": ""]).isEmpty)
    }

    @Test(arguments: [
        "Key=0011\nEncSize=16\n", "EncSize=16\n", "Key=ZZ112233445566778899AABBCCDDEEFF\n",
        "KEY\nEncSize=5\n", "KEY\nEDiv=65536\n", "KEY\nRand=-1\n", "Key=ÄÄ112233445566778899AABBCCDDEE\n",
    ])
    func `a key that is none is an error that names the file`(group: String) throws {
        // Arguments of tests are printed.
        let group = group.replacing("KEY", with: "Key=00112233445566778899AABBCCDDEEFF")
        let error = #expect(throws: BLEError.self) {
            try imported(["C4:F2:17:1A:1D:BB": general + "[LongTermKey]\n" + group])
        }
        #expect(error?.code == .malformedValue && error?.object.hasSuffix("C4:F2:17:1A:1D:BB/info") == true)
    }

    @Test func `a device whose file can't be looked at is an error, and not a device without a bond`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluetoothd-\(UUID())").path
        let device = "\(folder)/00:AA:01:01:00:01/C4:F2:17:1A:1D:BB"
        try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
        defer {
            chmod(device, 0o700)
            try? FileManager.default.removeItem(atPath: folder)
        }
        let isRoot = geteuid() == 0
        if isRoot {
            // Which may look at everything but this.
            try #require(symlink("info", "\(device)/info") == 0)
        } else {
            // As in a copy that root has made, and has given away but for what is in it.
            try #require(chmod(device, 0) == 0)
        }
        let error = #expect(throws: BLEError.self) { try Bond.importedFromBluetoothd(in: folder) }
        let code: BLEError.Code = isRoot ? .systemFailure : .permissionDenied
        #expect(error?.code == code && error?.object == "\(device)/info", "\(error as Any)")
    }

    @Test func `whatever stands there is no trap`() throws {
        let whole = Array((general + "[LongTermKey]\nKey=00112233445566778899AABBCCDDEEFF\nEDiv=1\nRand=2\n").utf8)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var octets = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                octets[Int.random(in: octets.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            _ = BluetoothdBonds(String(decoding: octets.prefix(.random(in: 0...octets.count)), as: UTF8.self))?
                .bond("C4:F2:17:1A:1D:BB", "00:AA:01:01:00:01")
        }
    }

    @Test func `a folder that isn't there is an error with what to do`() {
        let error = #expect(throws: BLEError.self) { try Bond.importedFromBluetoothd(in: "/nowhere") }
        #expect(error?.code == .notFound && error?.object == "/nowhere" && error?.remedy.isEmpty == false)
        // What root couldn't do either needs no permission.
        let long = "/" + String(repeating: "a", count: 300)
        let unnameable = #expect(throws: BLEError.self) { try Bond.importedFromBluetoothd(in: long) }
        #expect(unnameable?.code == .systemFailure && unnameable?.systemError == ENAMETOOLONG)
        #expect(unnameable?.remedy.isEmpty == false && unnameable?.remedy.contains("root") == false)
    }
}
