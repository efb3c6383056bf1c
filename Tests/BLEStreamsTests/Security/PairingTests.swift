import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

/// Pairing, bonds and what becomes of them, between a central and a peripheral with a value that asks for encryption.
struct PairingTests {
    private static let secret = BluetoothUUID(0xB001)

    private static let peripheral = LocalPeripheral(name: "Secret") {
        LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(secret, [.read], value: .stored([42]), access: .encrypted)
        }
    }

    private func withBench(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await Bench.run(description: Self.peripheral, body)
    }

    @Test func `after pairing the protected value is read, on this link and on the next`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { link in
                let refused = await #expect(throws: BLEError.self) { try await link.read(Self.secret) }
                #expect(
                    refused?.attError == .insufficientEncryption || refused?.attError == .insufficientAuthentication
                )
                try await link.pair()
                #expect(link.security.isEncrypted && !link.security.isAuthenticated)
                let value = try await link.read(Self.secret)
                #expect(value.bytes == [42])
            }
            #expect(bench.peripheral.isBonded)
            #expect(try bench.central.bonds.map(\.peer) == [bench.peripheralAdapter.address])
            try await bench.peripheral.withLink { link in
                #expect(link.security.isEncrypted, "encrypted before the link is handed out")
                let value = try await link.read(Self.secret)
                #expect(value.bytes == [42])
                try await link.pair()
            }
        }
    }

    /// A bench whose central keeps its bonds where a file is in the way of the folder: as good as a full disk.
    private func withFullDisk(
        _ body: @escaping @Sendable (Bench, Peripheral, Recorder<BLEError>, _ obstacle: String) async throws -> Void
    ) async throws {
        try await StoreChild.with { child in
            let obstacle = (child.folder as NSString).deletingLastPathComponent
            try Data().write(to: URL(filePath: obstacle))
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            try await withBench { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await body(bench, central.peripheral(bench.peripheralAdapter.address), warnings, obstacle)
            }
        }
    }

    @Test func `a bond that could not be written is told, while the link goes on, and is written by the next call`()
        async throws
    {
        try await withFullDisk { _, peripheral, _, obstacle in
            try await peripheral.withLink { link in
                for _ in 0..<2 {
                    let error = await bleError { try await link.pair() }
                    #expect(error?.pairingFailure == .bondNotKept && error?.operation == "pair", "\(error as Any)")
                    #expect(error?.cause.contains(obstacle) == true && error?.remedy.contains("pair()") == true)
                    #expect(error?.isFinal == false, "trying again may help")
                    #expect(link.security.isEncrypted)
                    let value = try await link.read(Self.secret)
                    #expect(value.bytes == [42])
                }
                try FileManager.default.removeItem(atPath: obstacle)
                try await link.pair()
            }
            let next = PeerStore(folder: obstacle + "/blestreams")
            #expect(next.bonds(with: peripheral.address).count == 1)
        }
    }

    @Test func `what has a link raised by itself goes on with a bond that could not be written, and a warning`()
        async throws
    {
        try await withFullDisk { _, peripheral, warnings, obstacle in
            let value = try await peripheral.withLink(pairing: PairingAnswers()) { try await $0.read(Self.secret) }
            #expect(value.bytes == [42] && peripheral.isBonded)
            #expect(warnings.all.contains { $0.object.contains(obstacle) }, "\(warnings.all)")
        }
    }

    @Test func `without pairing nothing is encrypted`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { link in #expect(!link.security.isEncrypted) }
            #expect(try !bench.peripheral.isBonded && bench.central.bonds.isEmpty)
        }
    }

    @Test func `the keys are given to an adapter that was unplugged meanwhile`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            bench.centralAdapter.unplug()
            bench.centralAdapter.plugIn()
            try await bench.peripheral.withLink { link in #expect(link.security.isEncrypted) }
        }
    }

    @Test func `the next program with the same store encrypts with the bond`() async throws {
        try await withBench { bench in
            let store = PeerStore.inMemory()
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await first.peripheral(bench.peripheralAdapter.address).withLink { try await $0.pair() }
            bench.centralAdapter.forgetBonds()
            let next = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await next.peripheral(bench.peripheralAdapter.address).withLink { link in
                #expect(link.security.isEncrypted)
            }
        }
    }

    @Test func `the bond is used where only the octets of the address are known`() async throws {
        try await withBench { bench in
            let address = bench.peripheralAdapter.address
            // The likelier kind is not the one that it has: the bond must be found under the other.
            let other = BluetoothAddress(rawValue: address.rawValue, kind: .public)
            let central = bench.central
            try await bench.peripheral.withLink { try await $0.pair() }
            bench.centralAdapter.forgetBonds()
            let peripheral = Peripheral(core: central.core, address: other, alternatives: [address])
            try await peripheral.withLink { link in #expect(link.security.isEncrypted) }
        }
    }

    @Test func `a bond is on the disk before pairing returns`() async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "blestreams-\(UUID())")
        defer { try? FileManager.default.removeItem(at: parent) }
        let folder = parent.appending(path: "state").path()
        try await withBench { bench in
            let store = PeerStore(folder: folder)
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                try await link.pair()
                #expect(PeerStore(folder: folder).peers() == [bench.peripheralAdapter.address])
            }
        }
    }

    @Test func `a peripheral that lost its keys is told as such, and can be paired with again`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            bench.peripheralAdapter.forgetBonds()
            let error = await #expect(throws: BLEError.self) { try await bench.peripheral.withLink { _ in } }
            #expect(error?.code == .securityFailed && error?.remedy.contains("unpair") == true, "\(error as Any)")
            #expect(error?.reason?.kind == .keyMissing && error?.cause.contains("no longer has") == true)
            try await bench.peripheral.unpair()
            #expect(!bench.peripheral.isBonded)
            try await bench.peripheral.withLink { link in
                try await link.pair()
                #expect(link.security.isEncrypted)
            }
        }
    }

    @Test func `a link that is waited for while its bond is removed is one without a bond`() async throws {
        try await withBench { bench in
            let peripheral = bench.peripheral
            try await peripheral.withLink { try await $0.pair() }
            let (near, far) = (bench.centralAdapter, bench.peripheralAdapter)
            bench.air.setSignal(.outOfRange, between: near, and: far)
            async let wasEncrypted = peripheral.withLink(timeout: .seconds(60)) { link in
                let wasEncrypted = link.security.isEncrypted
                try await link.pair()
                #expect(link.security.isEncrypted)
                return wasEncrypted
            }
            try await bench.time.sleep(for: .seconds(5))
            try await peripheral.unpair()
            bench.air.setSignal(.dBm(-60), between: near, and: far)
            #expect(try await wasEncrypted == false)
            #expect(peripheral.isBonded)
        }
    }

    @Test func `a peripheral that was paired with anew since has other keys, and is told as such`() async throws {
        try await withBench { bench in
            let (old, new) = (PeerStore.inMemory(), PeerStore.inMemory())
            let address = bench.peripheralAdapter.address
            for store in [old, new] {
                bench.centralAdapter.forgetBonds()
                bench.peripheralAdapter.forgetBonds()
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await central.peripheral(address).withLink { try await $0.pair() }
            }
            let central = try await Central.open(.radio(bench.centralAdapter), store: old)
            let error = await #expect(throws: BLEError.self) { try await central.peripheral(address).withLink { _ in } }
            #expect(error?.code == .securityFailed && error?.reason?.kind == .authenticationFailed)
            #expect(error?.cause.contains("keys differ") == true && error?.operation == "connect")
        }
    }

    @Test func `a peripheral that refuses is an error, and the link goes on`() async throws {
        try await withBench { bench in
            bench.peripheralAdapter.settings.acceptsPairing = false
            try await bench.peripheral.withLink { link in
                let error = await #expect(throws: BLEError.self) { try await link.pair() }
                #expect(error?.code == .securityFailed)
                let name = try await link.read(BluetoothUUID(0x2A00))
                #expect(name.bytes.elementsEqual("Secret".utf8))
            }
            #expect(!bench.peripheral.isBonded)
        }
    }

    @Test func `a link that is lost while pairing ends the call`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { link in
                bench.air.setSignal(.outOfRange, between: bench.centralAdapter, and: bench.peripheralAdapter)
                let error = await #expect(throws: BLEError.self) { try await link.pair() }
                #expect(error?.code == .disconnected, "\(error as Any)")
            }
        }
    }

    @Test func `cancelling ends the pairing and leaves nothing behind`() async throws {
        try await withBench { bench in
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await link.pair() }
                    }
                    group.addTask { try await bench.time.sleep(for: .milliseconds(10)) }
                    try await group.next()
                    group.cancelAll()
                }
                #expect(!link.security.isEncrypted)
            }
            #expect(!bench.peripheral.isBonded && bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a bond is found and removed under a private address too, and names the identity`() async throws {
        try await withBench { bench in
            let key = try #require(
                SecretKey(
                    octets: [
                        0x9B, 0x7D, 0x39, 0x0A, 0xA6, 0x10, 0x10, 0x34, 0x05, 0xAD, 0xC8, 0x57, 0xA3, 0x34, 0x02, 0xEC,
                    ]
                )
            )
            let identity = BluetoothAddress(rawValue: 0x0012_3456_789A, kind: .public)
            bench.central.core.remember(
                Bond(peer: identity, adapter: bench.centralAdapter.address, identityKey: key)
            )
            // Made with the key; the other one by somebody else.
            let hidden = bench.central.peripheral(BluetoothAddress(rawValue: 0x7081_940D_FBAA, kind: .random))
            let stranger = bench.central.peripheral(BluetoothAddress(rawValue: 0x7081_940D_FBAB, kind: .random))
            #expect(hidden.bond?.peer == identity && hidden.isBonded)
            #expect(stranger.bond == nil && !stranger.isBonded)
            try await hidden.unpair()
            #expect(try bench.central.bonds.isEmpty)
        }
    }

    @Test func `a bond that can't be removed from its file is told, and is removed by the next call`() async throws {
        try await StoreChild.with { child in
            let (folder, away) = (child.folder, child.folder + ".away")
            let store = PeerStore(folder: folder) { _ in }
            try await withBench { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                try await peripheral.withLink { try await $0.pair() }
                try FileManager.default.moveItem(atPath: folder, toPath: away)
                try Data().write(to: URL(filePath: folder))
                for _ in 0..<2 {
                    let error = await bleError { try await peripheral.unpair() }
                    #expect(error?.code == .systemFailure && error?.operation == "unpair", "\(error as Any)")
                    #expect(error?.cause.contains(folder) == true && error?.remedy.contains("unpair()") == true)
                }
                try FileManager.default.removeItem(atPath: folder)
                try FileManager.default.moveItem(atPath: away, toPath: folder)
                #expect(PeerStore(folder: folder).bonds(with: peripheral.address).count == 1)
                try await peripheral.unpair()
                #expect(PeerStore(folder: folder).bonds(with: peripheral.address).isEmpty)
                let error = await bleError { try await peripheral.unpair() }
                #expect(error?.code == .notFound)
            }
        }
    }

    @Test func `an adapter that is not on removes no key, and the bond is kept until it does`() async throws {
        let obstacles: [(AdapterInfo.State, BLEError.Code)] = [
            (.poweredOff, .adapterPoweredOff), (.blocked, .adapterBlocked), (.absent, .adapterNotFound),
        ]
        try await withBench { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            for (state, code) in obstacles {
                bench.centralAdapter.setState(state)
                let error = await bleError { try await bench.peripheral.unpair() }
                #expect(error?.code == code && error?.operation == "unpair", "\(error as Any)")
                #expect(error?.isFinal == false && bench.peripheral.isBonded)
            }
            bench.centralAdapter.powerOn()
            try await bench.peripheral.unpair()
            #expect(!bench.peripheral.isBonded)
        }
    }

    @Test func `where there is no bond there is none to remove`() async throws {
        try await withBench { bench in
            let error = await #expect(throws: BLEError.self) { try await bench.peripheral.unpair() }
            #expect(error?.code == .notFound && error?.operation == "unpair")
        }
    }
}
