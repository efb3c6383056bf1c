import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

/// An adapter that hides behind addresses that change, in both roles, and those who know it.
@Suite(.timeLimit(.minutes(10))) struct AdapterPrivacyTests {
    private static let secret = BluetoothUUID(0xB001)

    private static let peripheral = LocalPeripheral(name: "Secret") {
        LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(secret, [.read, .notify], value: .stored([42]), access: .encrypted)
        }
    }

    private static func run(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await Bench.run(description: peripheral, body)
    }

    /// A peripheral that hides before it is run.
    private static func runHidden(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await VirtualTime.run(seed: 3) { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            try await Central.open(.radio(far)).setPrivacy(true)
            let bench = Bench(
                time: time,
                air: air,
                centralAdapter: near,
                peripheralAdapter: far,
                central: try await Central.open(.radio(near))
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await peripheral.run(on: far) }
                do {
                    try await body(bench)
                } catch {
                    group.cancelAll()
                    throw error
                }
                group.cancelAll()
            }
        }
    }

    @Test func `a central that is private is known again by those who have paired with it`() async throws {
        try await Self.run { bench in
            let central = bench.central
            #expect(try await !central.privacy())
            try await central.setPrivacy(true)
            #expect(try await central.privacy())
            let first = bench.centralAdapter.addressOnAir
            #expect(first.subkind == .resolvablePrivate && bench.centralAdapter.address != first)
            try await bench.peripheral.withLink { link in
                #expect(bench.peripheralAdapter.activity.links == [bench.centralAdapter.address])
                try await link.pair()
            }
            bench.centralAdapter.renewPrivateAddress()
            #expect(bench.centralAdapter.addressOnAir != first)
            try await bench.peripheral.withLink { link in
                #expect(link.security.isEncrypted)
                try await link.expect(Self.secret, reads: [42])
            }
        }
    }

    @Test func `a peripheral learns of the pairing of a central whose address has changed since it connected`()
        async throws
    {
        let bonds = Recorder<Bond?>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await event in server.centralEvents {
                if case .paired(_, let bond) = event { bonds.add(bond) }
            }
        }
        try await Bench.run(description: Self.peripheral, serve: serve) { bench in
            try await bench.central.setPrivacy(true)
            try await bench.peripheral.withLink { link in
                bench.centralAdapter.renewPrivateAddress()
                try await link.pair()
                try await bench.time.sleep(for: .seconds(1))
            }
            #expect(bonds.all.map { $0?.peer } == [bench.centralAdapter.address])
        }
    }

    @Test func `the key lasts as long as the store, and is another one for each adapter`() async throws {
        try await Self.run { bench in
            let store = PeerStore.inMemory()
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await first.setPrivacy(true)
            let adapter = bench.centralAdapter
            let key = try #require(store.record(of: adapter.address).ownIdentityKey.flatMap { SecretKey(octets: $0) })
            #expect(key.resolves(adapter.addressOnAir))
            adapter.unplug()
            adapter.plugIn()
            #expect(try await !first.privacy())
            try await Central.open(.radio(adapter), store: store).setPrivacy(true)
            #expect(key.resolves(adapter.addressOnAir))
            let other = bench.air.adapter()
            try await Central.open(.radio(other), store: store).setPrivacy(true)
            #expect(!key.resolves(other.addressOnAir) && other.addressOnAir.subkind == .resolvablePrivate)
            #expect(try first.bonds.isEmpty)
        }
    }

    @Test func `a key that could not be written stays the same, and is written when that is possible`() async throws {
        try await StoreChild.with { child in
            let obstacle = URL(filePath: child.folder).deletingLastPathComponent()
            try Data().write(to: obstacle)
            let store = PeerStore(folder: child.folder) { _ in }
            try await Self.run { bench in
                let adapter = bench.centralAdapter
                let central = try await Central.open(.radio(adapter), store: store)
                try await central.setPrivacy(true)
                let first = adapter.addressOnAir
                adapter.unplug()
                adapter.plugIn()
                try FileManager.default.removeItem(at: obstacle)
                try await central.setPrivacy(true)
                let stored = PeerStore(folder: child.folder).record(of: adapter.address).ownIdentityKey
                let key = try #require(stored.flatMap { SecretKey(octets: $0) })
                #expect(key.resolves(first) && key.resolves(adapter.addressOnAir))
            }
        }
    }

    @Test func `of two programs that make the first key at once, both use the one that is stored`() async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            try await Self.run { bench in
                let adapter = bench.centralAdapter
                let rival = Data((1...16).map { UInt8($0) })
                // It writes just before this program does.
                let store = PeerStore(folder: folder, patience: .seconds(10), warning: PeerStore.printWarning) { _ in
                    var notice: BLEError?
                    _ = try? PeerFolder(path: folder).change(adapter.address, isPatient: true, &notice) { record in
                        record.ownIdentityKey = rival
                    }
                }
                let central = try await Central.open(.radio(adapter), store: store)
                try await central.setPrivacy(true)
                let stored = PeerStore(folder: folder).record(of: adapter.address).ownIdentityKey
                #expect(stored == rival)
                #expect(SecretKey(octets: rival)?.resolves(adapter.addressOnAir) == true)
            }
        }
    }

    @Test func `a key that can't be read is not replaced by one that nobody knows`() async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            try await Self.run { bench in
                let adapter = bench.centralAdapter
                let first = try await Central.open(.radio(adapter), store: PeerStore(folder: folder) { _ in })
                try await first.setPrivacy(true)
                let before = adapter.addressOnAir
                adapter.unplug()
                adapter.plugIn()
                // A folder into which others may write is not read.
                try #require(chmod(folder, 0o777) == 0)
                let next = try await Central.open(.radio(adapter), store: PeerStore(folder: folder) { _ in })
                let error = await bleError { try await next.setPrivacy(true) }
                #expect(error?.code == .systemFailure && error?.operation == "set privacy", "\(error as Any)")
                #expect(error?.cause.contains(folder) == true && error?.remedy.contains("chmod") == true)
                try #require(chmod(folder, 0o700) == 0)
                try await next.setPrivacy(true)
                let stored = PeerStore(folder: folder).record(of: adapter.address).ownIdentityKey
                let key = try #require(stored.flatMap { SecretKey(octets: $0) })
                #expect(key.resolves(before) && key.resolves(adapter.addressOnAir))
            }
        }
    }

    @Test func `no link is dropped for it unasked`() async throws {
        try await Self.run { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await bench.central.setPrivacy(true) }
                #expect(error?.code == .busy && error?.cause.contains("\(bench.peripheralAdapter.address)") == true)
                try await link.expect(BluetoothUUID(0x2A00), reads: Array("Secret".utf8))
            }
            let error = await bleError { try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true) }
            #expect(error?.cause.contains("advertising") == true)
            try await bench.peripheral.withLink { link in
                try await bench.central.setPrivacy(true, interrupting: true)
                let end = await bleError { try await link.expect(Self.secret, reads: [42]) }
                #expect(end?.code == .disconnected)
            }
        }
    }

    @Test func `no scan that Linux knows of is ended for it unasked`() async throws {
        try await Self.run { bench in
            let (central, time) = (bench.central, bench.time)
            for scan in [central.scan(mode: .passive), central.scan(duplicates: true)] {
                let heard = Flag()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await _ in scan { heard.set() } }
                    while !heard.isSet { try await time.sleep(for: .milliseconds(100)) }
                    let error = await bleError { try await central.setPrivacy(true) }
                    #expect(error?.code == .busy && error?.cause.contains("a passive scan") == true, "\(error as Any)")
                    group.cancelAll()
                }
            }
            try await time.sleep(for: .seconds(1))
            try await central.setPrivacy(true)
            #expect(try await central.privacy())
        }
    }

    @Test func `a bond with a private peripheral survives its change, in scans, connects and sessions`() async throws {
        try await Self.runHidden { bench in
            let (central, adapter) = (bench.central, bench.peripheralAdapter)
            let stranger = try await central.scan().first()
            #expect(stranger.address == adapter.addressOnAir)
            try await stranger.peripheral.withLink { try await $0.pair() }
            #expect(stranger.peripheral.bond?.peer == adapter.address)
            adapter.renewPrivateAddress()
            // Also by who begins anew, and by an adapter that has been given no key yet.
            bench.centralAdapter.forgetBonds()
            #expect(try await central.scan().first().address == adapter.address)
            for address in [adapter.address, adapter.addressOnAir, stranger.address] {
                try await central.peripheral(address).withLink { link in
                    #expect(link.security.isEncrypted)
                    try await link.expect(Self.secret, reads: [42])
                }
            }
        }
    }

    @Test func `whoever watches a peripheral by a private address learns of its end, though its bond is removed`()
        async throws
    {
        try await Self.runHidden { bench in
            let peripheral = bench.central.peripheral(bench.peripheralAdapter.addressOnAir)
            try await peripheral.withLink { try await $0.pair() }
            let states = Recorder<Peripheral.ConnectionState>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await state in peripheral.connectionStates { states.add(state) }
                }
                try await bench.time.sleep(for: .seconds(1))
                try await peripheral.withLink { _ in
                    try await peripheral.unpair()
                    // It reads which bonds there are, before the link is down.
                    _ = try await bench.central.scan().timeout(.seconds(60)).first()
                }
                try await bench.time.sleep(for: .seconds(10))
                group.cancelAll()
            }
            #expect(states.all.contains(.connected))
            guard case .disconnected? = states.all.last else {
                Issue.record("\(states.all)")
                return
            }
        }
    }

    @Test func `a session goes on when the peripheral is back behind another address`() async throws {
        try await Self.runHidden { bench in
            let (central, adapter) = (bench.central, bench.peripheralAdapter)
            try await central.scan().first().peripheral.withLink { try await $0.pair() }
            for plan in [Session.Plan(finding: .connectable), Session.Plan(adapter.address)] {
                try await central.withSession(plan) { session in
                    for _ in 0..<3 {
                        let value = try await session.read(Self.secret)
                        #expect(value.bytes == [42])
                        adapter.renewPrivateAddress()
                        bench.air.setSignal(.outOfRange, between: bench.centralAdapter, and: adapter)
                        try await bench.time.sleep(for: .seconds(60))
                        bench.air.setSignal(.dBm(-60), between: bench.centralAdapter, and: adapter)
                    }
                }
            }
        }
    }

    @Test func `adapters that are joined find it again too`() async throws {
        try await Self.runHidden { bench in
            let (adapter, other) = (bench.peripheralAdapter, bench.air.adapter())
            let choice = AdapterChoice.joined([.radio(bench.centralAdapter), .radio(other)])
            let central = try await Central.open(choice)
            try await central.scan().first().peripheral.withLink { try await $0.pair() }
            adapter.renewPrivateAddress()
            let found = try await central.scan().first()
            #expect(found.address == adapter.address)
            try await found.peripheral.withLink { #expect($0.security.isEncrypted) }
            try await central.setPrivacy(true)
            #expect(try await central.privacy())
            #expect(Set([bench.centralAdapter, other].map { $0.addressOnAir.subkind }) == [.resolvablePrivate])
        }
    }
}
