import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// What the kernel is given, while other programs pair.
@Suite(.timeLimit(.minutes(10))) struct KernelKeysTests {
    private let kernel: KernelDouble
    private let keys: KernelKeys
    private static let nothing = KernelKeyList(longTerm: [], identity: [])

    init() throws {
        kernel = try KernelDouble()
        keys = KernelKeys(management: kernel.management)
    }

    private static let bond = KernelDouble.bond

    /// Loads the bond, as if the kernel had been seen without any key.
    ///
    /// - Parameters:
    ///   - isUnread: whether this program may not read the kernel's list, and bluetoothd isn't there.
    ///   - count: how much was reported when the bond was read from the store.
    private func load(isUnread: Bool = false, readAfter count: Int = 0) -> Events<Bool> {
        // An adapter that nobody else has: claims are of the whole machine.
        let adapter = isUnread ? "hci\(UInt64.random(in: 1000 ... .max))" : "hci0"
        return Events { [kernel, keys] yield in
            kernel.loop.enqueue {
                keys.load(
                    [Self.bond],
                    on: adapter,
                    current: isUnread ? nil : Self.nothing,
                    readAfter: count,
                    bluetoothd: isUnread ? .absent : .here
                ) { outcome in
                    if case .success = outcome { yield(true) } else { yield(false) }
                }
            }
            return RadioActivity {}
        }
    }

    /// The number of long-term keys in a command that loads them.
    private static func count(in command: KernelDouble.Command?) -> Int? {
        guard let command, command.opcode == .loadLongTermKeys, command.parameters.count > 1 else { return nil }
        return Int(command.parameters[0]) | Int(command.parameters[1]) << 8
    }

    /// Waits until all that the kernel has told is processed.
    private func settle() async throws {
        let answered = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        _ = try await kernel.answer(with: KernelDouble.information([.powered]))
        _ = await answered.next()
    }

    /// Also where it was made for another part of this program, such as a server with another store.
    @Test(arguments: [false, true])
    func `a key that was made since the list was read is not removed with it`(_ isUnread: Bool) async throws {
        try kernel.tellKey(kind: 2)
        try await settle()
        let end = load(isUnread: isUnread)
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 2)
        #expect(await end.next() == true)
    }

    @Test func `a key that is made while a list is loaded is given to the kernel again`() async throws {
        let end = load()
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        let command = await kernel.next()
        #expect(Self.count(in: command) == 1)
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .loadLongTermKeys, .success)
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 2)
        #expect(await end.next() == true)
    }

    @Test func `a key whose bond was removed since is not put back, nor is one for its link only`() async throws {
        try kernel.tellKey(kind: 2)
        try kernel.tellOfPeer(0x16, [])
        try kernel.tellKey(kind: 2, isKept: false)
        try await settle()
        let end = load()
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 1)
        #expect(await end.next() == true)
    }

    @Test func `a bond that is removed while its list is loaded does not stay in the kernel`() async throws {
        let end = load()
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: await kernel.next()) == 1)
        // The kernel has carried that out before it took this list.
        keys.remove(Self.bond.peer)
        try kernel.answer(to: .loadLongTermKeys, .success)
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 0)
        #expect(await end.next() == true)
        #expect(!keys.isKnown(Self.bond.peer) && keys.level(of: Self.bond.peer) == nil)
    }

    @Test(arguments: [false, true])
    func `a bond that was removed since the store was read is not given to the kernel`(_ isUnread: Bool) async throws {
        let count = keys.reportCount
        keys.remove(Self.bond.peer)
        let end = load(isUnread: isUnread, readAfter: count)
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 0)
        #expect(await end.next() == true)
        #expect(!keys.isKnown(Self.bond.peer))
        // One that was made since is.
        let next = load(isUnread: isUnread, readAfter: keys.reportCount)
        #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
        #expect(Self.count(in: try await kernel.answer()) == 1)
        #expect(await next.next() == true)
        #expect(keys.isKnown(Self.bond.peer))
    }

    /// Programs that have removed their bonds without the kernel's command leave such keys.
    @Test func `where there are too many identity keys, the error counts these, not the keys of bonds`() async throws {
        let value = try #require(SecretKey(octets: [UInt8](repeating: 7, count: 16)))
        let identity = (0...ManagementLoadIdentityResolvingKeys.maximum).map { number in
            let peer = BluetoothAddress(rawValue: 0xD000_0000_0000 + UInt64(number), kind: .random)
            return ManagementIdentityResolvingKey(address: ManagementAddress(peer), value: value)
        }
        let current = KernelKeyList(longTerm: [], identity: identity)
        let end = Events<KeyObstacle?> { [kernel, keys] yield in
            kernel.loop.enqueue {
                keys.load([Self.bond], on: "hci0", current: current, bluetoothd: .absent) { outcome in
                    if case .failure(let obstacle) = outcome { yield(obstacle) } else { yield(nil) }
                }
            }
            return RadioActivity {}
        }
        let told = await end.next()
        let obstacle = try #require(told ?? nil)
        #expect(obstacle == .tooMany(longTerm: 1, identity: 2850))
        let error = obstacle.error(of: try LinuxAdapter("hci0", socket: nil, refusal: .accessDenied))
        #expect(error.cause.contains("2850 identity keys") && error.cause.contains("at most 2849"), "\(error)")
    }

    // MARK: - Keys of other programs

    /// Another bond of the same adapter, with a key of this kind.
    private static func made(with peer: BluetoothAddress = bond.peer, ofKind kind: UInt8, value: UInt8) throws -> Bond {
        let value = try #require(SecretKey(octets: [UInt8](repeating: value, count: 16)))
        let key = Bond.EncryptionKey(kind: kind, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
        return Bond(peer: peer, adapter: bond.adapter, encryptionKeys: [key], identityKey: nil)
    }

    /// Loads a bond beside bluetoothd, where the kernel has a key of its peer already.
    private func load(_ bond: Bond, current: KernelKeyList?) -> Events<Bool> {
        Events { [kernel, keys] yield in
            kernel.loop.enqueue {
                keys.load([bond], on: "hci0", current: current, bluetoothd: .here) { outcome in
                    if case .success = outcome { yield(true) } else { yield(false) }
                }
            }
            return RadioActivity {}
        }
    }

    /// To request the level of the bond would make the kernel pair, where that of its key is lower.
    @Test(arguments: [(3, 2, .encrypted), (2, 3, .secureConnections)] as [(UInt8, UInt8, LinkSecurity.Level)])
    func `the level of another program's key that stays in the kernel counts, not that of the bond`(
        _ kind: UInt8,
        _ foreignKind: UInt8,
        _ level: LinkSecurity.Level
    ) async throws {
        let own = try Self.made(ofKind: kind, value: 5)
        let foreign = try Self.made(ofKind: foreignKind, value: 6)
        #expect(await load(own, current: KernelKeyList([foreign])).next() == true)
        #expect(keys.isContested(own.peer) && keys.level(of: own.peer) == level)
        // The two are the same again.
        #expect(await load(foreign, current: KernelKeyList([foreign])).next() == true)
        #expect(!keys.isContested(own.peer) && keys.level(of: own.peer) == level)
    }

    @Test func `so does that of a key that another program has made since, where the kernel's list can't be read`()
        async throws
    {
        let own = try Self.made(with: .example, ofKind: 3, value: 5)
        try kernel.tellKey(kind: 2)
        try await settle()
        for _ in 0..<2 {
            #expect(await load(own, current: nil).next() == true)
            #expect(keys.isContested(.example) && keys.level(of: .example) == .encrypted)
        }
    }

    @Test func `of the keys of one peer the newest counts, and one for each role of a legacy pairing`() throws {
        var reported = ReportedKeys()
        let secure = try #require(KernelKeyList([Self.bond]).longTerm.first)
        func legacy(_ initiator: UInt8) -> ManagementLongTermKey {
            ManagementLongTermKey(
                address: secure.address,
                kind: ManagementLongTermKey.Kind(rawValue: 0),
                initiator: initiator,
                size: 16,
                diversifier: 1,
                random: 1,
                value: secure.value
            )
        }
        reported.take(secure)
        reported.take(legacy(0))
        reported.take(legacy(1))
        #expect(reported.completing(Self.nothing).longTerm == [legacy(0), legacy(1)])
        reported.take(secure)
        #expect(reported.after(3).longTerm == [secure] && reported.after(0).longTerm == [secure])
        let count = reported.count
        reported.remove(secure.address)
        #expect(reported.after(0) == Self.nothing)
        #expect(reported.removed(after: count) == [secure.address])
        #expect(reported.removed(after: reported.count).isEmpty)
    }
}
