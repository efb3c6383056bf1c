import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// Levels that are demanded, what is in force, and bonds that are not made weaker.
@Suite(.timeLimit(.minutes(10))) struct SecurityLevelTests {
    private static let passkey = SecurityOnDemandTests.passkey

    @Test func `a level says what a link has`() {
        func level(_ isEncrypted: Bool, _ isAuthenticated: Bool, _ isSecure: Bool, _ keySize: Int) -> LinkSecurity
            .Level?
        {
            LinkSecurity(
                isEncrypted: isEncrypted,
                isAuthenticated: isAuthenticated,
                isSecureConnections: isSecure,
                keySize: keySize
            ).level
        }
        #expect(level(false, false, false, 0) == nil)
        #expect(level(true, false, true, 16) == .encrypted)
        #expect(level(true, true, false, 16) == .authenticated)
        #expect(level(true, true, true, 7) == .authenticated)
        #expect(level(true, true, true, 16) == .secureConnections)
        #expect(LinkSecurity.Level.allCases.sorted() == LinkSecurity.Level.allCases)
    }

    @Test func `a level is demanded, and brought about`() async throws {
        try await SecurityOnDemandTests.withVault(manner: .showsPasskey(Self.passkey)) { bench in
            try await bench.peripheral.withLink { link in
                try await link.secure(to: .authenticated, answers: .passkey(Self.passkey))
                #expect(link.security.level == .secureConnections)
                // What is there already asks nobody.
                try await link.secure(to: .secureConnections)
                try await link.secure(to: .encrypted)
            }
        }
    }

    @Test func `a level that can't be reached names the one that was`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.secure(to: .authenticated, answers: .passkey(1)) }
                #expect(error?.code == .securityFailed, "\(error as Any)")
                #expect(error?.cause.contains("it is encrypted, and could not be made authenticated") == true)
                #expect(link.security.level == .encrypted)
                // Pairing anew for it fails in the same way, and leaves the bond.
                let again = await bleError { try await link.secure(to: .secureConnections, answers: .passkey(1)) }
                #expect(again?.cause.contains("it is encrypted") == true, "\(again as Any)")
                #expect(link.security.level == .encrypted && bench.peripheral.isBonded)
            }
        }
    }

    @Test func `the level in force is a stream, which ends with the link`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let levels = Recorder<LinkSecurity.Level?>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let began = Ending<Void>()
                try await bench.peripheral.withLink { link in
                    group.addTask {
                        for try await security in link.securityChanges {
                            levels.add(security.level)
                            began.end()
                        }
                    }
                    try await began.wait(on: bench.time)
                    try await link.pair()
                    bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
                    try await link.secure(to: .authenticated, answers: .passkey(Self.passkey))
                }
                try await group.waitForAll()
            }
            #expect(levels.all == [nil, .encrypted, .secureConnections])
        }
    }

    @Test func `a change while the present level is looked up comes behind it`() async throws {
        let radio = OneLinkRadio()
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(radio.link.peer).withLink { link in
            var changes = link.securityChanges.makeAsyncIterator()
            radio.link.whileLookedAt {
                radio.link.protect(LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16))
            }
            let first = try await changes.next()
            let second = try await changes.next()
            #expect(first?.level == nil && second?.level == .encrypted)
        }
    }

    @Test func `a bond that is adopted while the link is up is used, and improved if it doesn't suffice`() async throws
    {
        try await SecurityOnDemandTests.withVault { bench in
            try await bench.peripheral.withLink { link in try await link.pair() }
            let bonds = try bench.central.bonds
            bench.centralAdapter.forgetBonds()
            let central = try await Central.open(.radio(bench.centralAdapter), store: PeerStore.inMemory())
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
                try await central.adopt(bonds)
                try await link.secure(to: .authenticated, answers: .passkey(Self.passkey))
                #expect(link.security.level == .secureConnections)
            }
            #expect(try central.bonds.map(\.isAuthenticated) == [true])
        }
    }

    @Test func `a bond is not replaced by a weaker one`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store, pairing: PairingAnswers())
            let peer = bench.peripheralAdapter.address
            let key = try #require(SecretKey(octets: [UInt8](repeating: 9, count: 16)))
            let strong = Bond(
                peer: peer,
                adapter: bench.centralAdapter.address,
                encryptionKeys: [
                    Bond.EncryptionKey(kind: 3, initiator: 0, size: 16, diversifier: 0, random: 0, value: key)
                ]
            )
            let error = await bleError {
                try await central.peripheral(peer).withLink { link in
                    async let value = link.read(SecurityOnDemandTests.secret)
                    while !link.raiser.isRaising { try await bench.time.sleep(for: .milliseconds(1)) }
                    // Of somebody whose private address has told nothing of that before.
                    store.remember(strong)
                    _ = try await value
                }
            }
            #expect(
                error?.pairingFailure == .wouldWeakenBond && error?.remedy.contains("unpair") == true,
                "\(error as Any)"
            )
            #expect(try central.bonds == [strong])
        }
    }

    /// A bond of the central's adapter with the peripheral, with a key of this kind.
    private static func bond(_ number: UInt8, ofKind kind: UInt8, in bench: Bench) -> Bond {
        var bond = Bond.planted(number, with: bench.peripheralAdapter.address)
        bond.adapter = bench.centralAdapter.address
        for index in bond.encryptionKeys.indices { bond.encryptionKeys[index].kind = kind }
        return bond
    }

    @Test func `a bond that the peripheral has had the radio make is kept, and none that is weaker in its place`()
        async throws
    {
        try await SecurityOnDemandTests.withVault { bench in
            let (store, radio) = (PeerStore.inMemory(), PuppetRadio(bench.centralAdapter))
            let central = try await Central.open(.radio(radio), store: store)
            let peer = bench.peripheralAdapter.address
            let (better, worse) = (Self.bond(4, ofKind: 3, in: bench), Self.bond(5, ofKind: 2, in: bench))
            // A radio that had the worse keys would drop the link with them.
            try? await central.peripheral(peer).withLink { link in
                link.bearer.linkPaired(better)
                #expect(store.bonds(with: peer) == [better])
                link.bearer.linkPaired(worse)
                try await bench.time.sleep(for: .seconds(1))
            }
            #expect(store.bonds(with: peer) == [better])
            #expect(radio.restorations == 1, "the adapter has the former keys again")
        }
    }

    @Test func `the adapter has the keys of a bond again at once that a weaker one was to replace`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let (store, radio) = (PeerStore.inMemory(), PuppetRadio(bench.centralAdapter))
            let central = try await Central.open(.radio(radio), store: store)
            let (peer, strong) = (bench.peripheralAdapter.address, Self.bond(9, ofKind: 3, in: bench))
            let error = await bleError {
                try await central.peripheral(peer).withLink { link in
                    async let pairing: Void = link.pair()
                    while !link.raiser.isRaising { try await bench.time.sleep(for: .milliseconds(1)) }
                    store.remember(strong)
                    try await pairing
                }
            }
            #expect(error?.pairingFailure == .wouldWeakenBond, "\(error as Any)")
            #expect(radio.restorations == 2, "before the pairing, and behind it")
        }
    }

    @Test(arguments: [
        (3, 16, 2, 16, true), (3, 16, 1, 16, true), (3, 16, 3, 7, true), (2, 16, 0, 16, true),
        (0, 16, 1, 16, false), (2, 16, 3, 16, false), (1, 16, 3, 16, false), (3, 16, 3, 16, false),
        // Legacy with a passkey is better in one way, and worse in another: who has heard it may have the key.
        (2, 16, 1, 16, true),
    ])
    func `what makes a bond weaker`(
        kind: UInt8,
        size: UInt8,
        newKind: UInt8,
        newSize: UInt8,
        isWeaker: Bool
    ) throws {
        let address = BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random)
        let value = try #require(SecretKey(octets: [UInt8](repeating: 1, count: 16)))
        func bond(_ kind: UInt8, _ size: UInt8) -> Bond {
            let key = Bond.EncryptionKey(kind: kind, initiator: 0, size: size, diversifier: 0, random: 0, value: value)
            return Bond(peer: address, adapter: address, encryptionKeys: [key])
        }
        #expect((bond(kind, size).loss(by: bond(newKind, newSize)) != nil) == isWeaker)
    }
}
