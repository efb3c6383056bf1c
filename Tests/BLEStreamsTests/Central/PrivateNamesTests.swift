import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A peripheral with private addresses that the program goes on naming as it found it, before it paired: the link goes
/// by the identity since then.
@Suite(.timeLimit(.minutes(10))) struct PrivateNamesTests {
    private typealias Vault = SecurityOnDemandTests

    /// Runs the closure with a peripheral that hides, as a stranger's, and as the one that it proves to be.
    static func run(
        isPaired: Bool = true,
        _ body: @escaping @Sendable (Bench, _ found: Peripheral, _ known: Peripheral) async throws -> Void
    ) async throws {
        try await Bench.run(description: Vault.vault) { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let found = bench.central.peripheral(bench.peripheralAdapter.addressOnAir)
            if isPaired { try await found.withLink { try await $0.pair() } }
            try await body(bench, found, bench.peripheral)
        }
    }

    @Test func `what is demanded and who answers holds under each of its addresses`() async throws {
        try await Self.run { bench, found, known in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
            found.secure(Vault.open, to: .authenticated)
            known.secure(Vault.secret, to: .authenticated)
            bench.peripheralAdapter.renewPrivateAddress()
            let later = bench.central.peripheral(bench.peripheralAdapter.addressOnAir)
            for name in [found, known, later] {
                for key in [Vault.open, Vault.secret] {
                    let error = await bleError { try await name.withLink { try await $0.write([1], to: key) } }
                    #expect(error?.code == .securityFailed, "\(error as Any)")
                }
            }
            #expect(bench.writes.isEmpty)
            found.allowPairing(.passkey(Vault.passkey))
            try await later.withLink { link in
                try await link.write([1], to: Vault.open)
                #expect(link.security.isAuthenticated)
            }
            // What is taken back is so under all of them.
            known.allowPairing(nil)
            known.secure(Vault.open, to: nil)
            let preferences = bench.central.core.preferences
            #expect(preferences.answers(for: found.address) == nil)
            #expect(preferences.demands(on: found.address) == preferences.demands(on: later.address))
        }
    }

    @Test func `its services are forgotten whichever address it is named by`() async throws {
        try await Self.run { bench, found, known in
            bench.peripheralAdapter.renewPrivateAddress()
            let later = bench.central.peripheral(bench.peripheralAdapter.addressOnAir)
            for name in [found, known, later] {
                for isForgotten in [true, false] {
                    if isForgotten { name.forgetServices() }
                    try await name.withLink { link in
                        _ = try await link.discover()
                        #expect(link.servicesAreRemembered == !isForgotten, "\(name)")
                    }
                }
            }
        }
    }

    @Test func `its states are told to the end, and a central's scope ends with its link`() async throws {
        try await Self.run { bench, found, known in
            let seen = [Recorder<Peripheral.ConnectionState>(), Recorder()]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, seen) in zip([found, known], seen) {
                    group.addTask { for try await state in name.connectionStates { seen.add(state) } }
                }
                try await bench.time.sleep(for: .seconds(1))
                try await found.withLink { _ in }
                try await bench.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
            let closed = Peripheral.ConnectionState.disconnected(DisconnectReason(.closedLocally))
            for seen in seen { #expect(seen.all.dropFirst() == [.connecting, .connected, .disconnecting, closed]) }
            #expect(bench.central.core.states.isEmpty)
        }
    }

    @Test func `whoever watches it by its identity learns of the link on which it pairs, before that or after`()
        async throws
    {
        try await Self.run(isPaired: false) { bench, found, known in
            async let seen = known.connectionStates.take(until: bench.time.after(.seconds(30))).collect()
            try await bench.time.sleep(for: .seconds(1))
            try await found.withLink { link in
                try await link.pair()
                bench.peripheralAdapter.renewPrivateAddress()
                for name in [found, known, bench.central.peripheral(bench.peripheralAdapter.addressOnAir)] {
                    #expect(try await name.connectionStates.first() == .connected, "\(name)")
                }
            }
            let closed = Peripheral.ConnectionState.disconnected(DisconnectReason(.closedLocally))
            #expect(try await seen == [.disconnected(nil), .connecting, .connected, .disconnecting, closed])
        }
    }

    @Test(arguments: [true, false])
    func `it has one link, which all share, whichever address they know it by`(isPaired: Bool) async throws {
        try await Self.run(isPaired: isPaired) { bench, found, known in
            try await found.withLink { link in
                try await link.pair()
                for name in [found, known] {
                    try await name.withLink { other in try await other.expect(Vault.secret, reads: [42]) }
                    try await link.expect(Vault.secret, reads: [42])
                }
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a scan, a command and a flow find it by an address that it no longer has`() async throws {
        try await Self.run { bench, found, known in
            bench.peripheralAdapter.renewPrivateAddress()
            let heard = try await bench.central.scan(for: .address(found.address)).timeout(.seconds(20)).first()
            #expect(heard.peripheral == known)
            try await found.withQueue { queue in
                let discovery = try await queue.run(Finding())
                #expect(discovery.peripheral == known)
                let outcome = try await queue.run(PairingFlow(reading: Vault.secret, limit: .seconds(20)))
                #expect(!outcome.wasPaired && Array(outcome.value) == [42])
            }
        }
    }

    /// Whose keys that one doesn't get: by its identity, it would wait in vain.
    @Test func `another adapter than that of its bond finds it by its present address, and connects to that`()
        async throws
    {
        try await Self.run { bench, found, known in
            let (other, store) = (bench.air.adapter(), bench.central.core.store)
            let central = try await Central.open(.radio(other), store: store)
            let onAir = bench.peripheralAdapter.addressOnAir
            let heard = try await central.scan(for: .address(onAir)).timeout(.seconds(20)).first()
            #expect(heard.peripheral.address == onAir)
            try await heard.peripheral.withLink { try await $0.pair() }
            #expect(try Set(central.bonds.map(\.adapter)) == [bench.centralAdapter.address, other.address])
            #expect(try Set(central.bonds.map(\.peer)) == [known.address])
            // It has a bond of its own since.
            bench.peripheralAdapter.renewPrivateAddress()
            try await central.peripheral(known.address).withLink { #expect($0.security.isEncrypted) }
            try await found.withLink { #expect($0.security.isEncrypted) }
        }
    }

    @Test func `a scan for it goes on when it pairs, and when it has another address`() async throws {
        try await Self.run(isPaired: false) { bench, found, known in
            let seen = Recorder<Peripheral>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let scan = bench.central.scan(for: .address(found.address), duplicates: true)
                    for try await discovery in scan { seen.add(discovery.peripheral) }
                }
                try await bench.time.sleep(for: .seconds(5))
                #expect(seen.all.last == found)
                try await found.withLink { try await $0.pair() }
                for _ in 0..<2 {
                    let count = seen.all.count
                    try await bench.time.sleep(for: .seconds(20))
                    #expect(seen.all.count > count && seen.all.last == known)
                    bench.peripheralAdapter.renewPrivateAddress()
                }
                group.cancelAll()
            }
        }
    }

    @Test func `a scan under way shows one whose bond is removed by the address that it can be reached by`()
        async throws
    {
        try await Self.run { bench, _, known in
            let seen = Recorder<Peripheral>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let scan = bench.central.scan(for: .connectable, duplicates: true)
                    for try await discovery in scan { seen.add(discovery.peripheral) }
                }
                try await bench.time.sleep(for: .seconds(5))
                #expect(seen.all.last == known)
                try await known.unpair()
                bench.peripheralAdapter.forgetBonds()
                try await bench.time.sleep(for: .seconds(20))
                let again = try #require(seen.all.last)
                #expect(again.address == bench.peripheralAdapter.addressOnAir)
                try await again.withLink { try await $0.pair() }
                #expect(again.bond?.peer == known.address)
                group.cancelAll()
            }
        }
    }

    /// Stores a bond, and begins a scan with each of the modes of a path.
    private static func expectKnown(
        _ bond: Bond,
        _ store: PeerStore,
        _ path: String,
        _ modes: [Int]
    ) async throws -> CentralCore {
        let key = try #require(bond.identityKey)
        store.remember(bond)
        await store.flush()
        let core = CentralCore(radio: SilentRadio(), store: store)
        for mode in modes {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            await withCheckedContinuation { continuation in core.renewIdentities { continuation.resume() } }
            #expect(core.identities.identity(of: key.privateAddress(1)) == bond.peer)
        }
        return core
    }

    @Test func `scans know it though the store can't be read when another one begins`() async throws {
        try await withFolder { folder in
            let (bond, store) = (try Self.bond(), PeerStore(folder: folder) { _ in })
            let key = try #require(bond.identityKey)
            // A folder into which others may write is not read.
            let core = try await Self.expectKnown(bond, store, folder, [0o700, 0o777, 0o700])
            store.forgetBonds(with: bond.peer)
            await withCheckedContinuation { continuation in core.renewIdentities { continuation.resume() } }
            #expect(core.identities.identity(of: key.privateAddress(1)) == key.privateAddress(1))
        }
    }

    @Test func `scans know it though its file alone can't be read when another one begins`() async throws {
        try await withFolder { folder in
            let store = PeerStore(folder: folder) { _ in }
            // A file to which others may write is not read.
            let file = "\(folder)/C4-F2-17-1A-1D-BB-random.json"
            _ = try await Self.expectKnown(Self.bond(), store, file, [0o600, 0o660, 0o600])
        }
    }

    @Test func `a scan under way knows one whose bond is adopted meanwhile`() async throws {
        let central = try await Central.open(.radio(SilentRadio()), store: .inMemory())
        let bond = try Self.bond()
        let key = try #require(bond.identityKey)
        #expect(central.core.identities.identity(of: key.privateAddress(1)) == key.privateAddress(1))
        try await central.adopt([bond])
        #expect(central.core.identities.identity(of: key.privateAddress(1)) == bond.peer)
    }

    /// A radio that hears nothing.
    private struct SilentRadio: IdleRadio {}

    private static func bond() throws -> Bond {
        let key = try #require(SecretKey(octets: (0..<16).map { UInt8($0) }))
        let encryption = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 7, random: .max, value: key)
        let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let adapter = BluetoothAddress(rawValue: 0x00AA_0101_0001, kind: .public)
        return Bond(peer: peer, adapter: adapter, encryptionKeys: [encryption], identityKey: key)
    }

    /// Finds its device, and returns what the event says of it.
    private struct Finding: Command {
        func run(in context: CommandContext) async throws -> Discovery {
            _ = try await context.find(within: .seconds(20))
            while true {
                if case .discovered(let discovery) = try await context.next(timeout: .seconds(3)) { return discovery }
            }
        }
    }

    /// A radio that hears one advertisement, and knows no keys.
    private struct HearingRadio: IdleRadio {
        let timeline: any Timeline
        let report: AdvertisingReport

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            timeline.schedule(after: .zero) {
                events(.started)
                events(.reports([report]))
            }
        }
    }

    @Test func `a flow hears it under its identity, also where the adapter doesn't know that`() async throws {
        try await VirtualTime.run { time in
            let bond = try Self.bond()
            let report = AdvertisingReport(
                address: try #require(bond.identityKey).privateAddress(1),
                rssi: -50,
                isConnectable: true,
                data: AdvertisingData(bytes: []),
                time: ReceptionTime(sinceEpoch: .seconds(1), source: .kernel)
            )
            let radio = HearingRadio(timeline: time, report: report)
            let central = try await Central.open(.radio(radio), store: .inMemory())
            try await central.adopt([bond])
            let known = central.peripheral(bond.peer)
            let discovery = try await known.withQueue { queue in try await queue.run(Finding()) }
            #expect(discovery.peripheral == known)
            #expect(discovery.address == known.address)
        }
    }

    @Test func `a session that has paired on the way is restored once`() async throws {
        try await Self.run(isPaired: false) { bench, found, known in
            var plan = Session.Plan(finding: .connectable)
            plan.isKept = true
            for isOver in [false, true] {
                // The second time, a later run of the program, which knows it by its private address.
                let next = isOver ? bench.central.keptPlans : [plan]
                try #require(next.count == 1)
                try await bench.central.withSession(next[0]) { session in
                    try await session.ready()
                    if isOver { return }
                    #expect(bench.central.keptPlans == [Session.Plan.kept(found.address)])
                    try await session.withLink { try await $0.pair() }
                }
            }
            #expect(bench.central.keptPlans == [Session.Plan.kept(known.address)])
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                session.forget()
            }
            #expect(bench.central.keptPlans.isEmpty)
        }
    }

    @Test func `a queue for it is refused while a session has its link`() async throws {
        try await Self.run { bench, found, known in
            try await bench.central.withSession(Session.Plan(known)) { session in
                try await session.ready()
                let error = await bleError {
                    try await found.withQueue { queue in _ = try await queue.connecting().run(.read(Vault.secret)) }
                }
                #expect(error?.code == .busy && error?.remedy.contains("session.queue") == true)
            }
        }
    }
}

extension Session.Plan {
    /// The plan for a peripheral as it is restored.
    fileprivate static func kept(_ address: BluetoothAddress) -> Session.Plan {
        var plan = Session.Plan(address)
        plan.isKept = true
        return plan
    }
}
