import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Keys that a bluetoothd has removed from the kernel with a list of its own; seen by a program that may not read the
/// kernel's list, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct UnseenKeysTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    /// Claims are shared by all tests of this program, so no other one may use the name.
    private let name = "hci\(UInt64.random(in: 1000 ... .max))"

    private var kernel: FakeKernel { run.kernel }

    /// How many lists the kernel was given.
    private var lists: Int? { kernel.with { $0.adapters[kernel.central]?.keyLists } }

    /// - Parameter first: the first octet of its key; that of the key which the kernel tells of is 1.
    private func bond(of radio: LinuxRadio, first: UInt8 = 1) throws -> Bond {
        let adapter = try #require(radio.adapterInfo.address)
        let value = try #require(SecretKey(octets: Array(first..<first + 16)))
        let key = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
        return Bond(peer: .example, adapter: adapter, encryptionKeys: [key], identityKey: nil)
    }

    /// Gives the kernel a bond, as each link does. Returns whether it has it, as far as is known.
    private func load(_ bond: Bond, beside bluetoothd: Bluetoothd.Presence, into radio: LinuxRadio) async throws -> Bool
    {
        try await run.answer("loading") { [name, kernel = kernel.kernel] answer in
            radio.loop.enqueue {
                radio.keys.load([bond], on: name, current: nil, bluetoothd: bluetoothd, of: kernel) { outcome in
                    if case .success = outcome { answer(true) } else { answer(false) }
                }
            }
        }
    }

    /// The kernel tells of a key of a new bond.
    private func tellKey() async {
        kernel.with { state in
            let key: [UInt8] = [2, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(kernel.central, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await kernel.idle()
    }

    @Test func `what was given before a bluetoothd came is given again when that was stopped`() async throws {
        let radio = try run.radio()
        let bond = try bond(of: radio)
        #expect(try await load(bond, beside: .absent, into: radio))
        #expect(lists == 1)
        // The error says to stop it.
        #expect(try await load(bond, beside: .here, into: radio) == false)
        #expect(!radio.keys.isKnown(.example))
        #expect(try await load(bond, beside: .absent, into: radio))
        #expect(lists == 2)
    }

    @Test func `a bond that was made before a bluetoothd came counts no more, and one made beside it does`()
        async throws
    {
        let radio = try run.radio()
        let bond = try bond(of: radio)
        await tellKey()
        #expect(try await load(bond, beside: .absent, into: radio))
        #expect(lists == 0)
        #expect(try await load(bond, beside: .here, into: radio) == false)
        await tellKey()
        #expect(try await load(bond, beside: .here, into: radio))
        #expect(lists == 0)
    }

    /// The keys are loaded before each pairing, and bluetoothd is looked for then.
    @Test func `a bond that was made since bluetoothd was found not to run goes with one that comes`() async throws {
        let radio = try run.radio()
        let bond = try bond(of: radio)
        #expect(try await load(bond, beside: .absent, into: radio))
        await tellKey()
        #expect(try await load(bond, beside: .here, into: radio) == false)
        #expect(!radio.keys.isKnown(.example))
        #expect(try await load(bond, beside: .absent, into: radio))
        #expect(lists == 2)
    }

    /// Otherwise pairing again would only try to encrypt, and the next list would have the key once more.
    @Test func `a bond that is removed is forgotten, though the kernel no longer has it`() async throws {
        let radio = try run.radio()
        #expect(try await load(try bond(of: radio), beside: .absent, into: radio))
        #expect(radio.keys.isKnown(.example))
        let hadKey: Bool = try await run.result("unpairing") { radio.unpair(.example, result: $0) }
        #expect(!hadKey && !radio.keys.isKnown(.example))
    }

    /// As by an import in another program, which may not set the kernel's list.
    @Test(arguments: [false, true])
    func `a bond that was replaced in the store is given in place of its former keys`(_ wasMade: Bool) async throws {
        let radio = try run.radio()
        if wasMade { await tellKey() }
        for _ in 1...2 { #expect(try await load(try bond(of: radio), beside: .absent, into: radio)) }
        let before = lists
        #expect(before == (wasMade ? 0 : 1))
        let new = try bond(of: radio, first: 2)
        for _ in 1...2 { #expect(try await load(new, beside: .absent, into: radio)) }
        #expect(lists == before.map { $0 + 1 })
    }

    /// As by this program, before the bond that it has made was loaded.
    @Test func `a bond is given in place of one that was made here`() async throws {
        let radio = try run.radio()
        await tellKey()
        var new = try bond(of: radio, first: 2)
        new.formerKeys = try bond(of: radio).encryptionKeys
        #expect(try await load(new, beside: .absent, into: radio))
        #expect(lists == 1)
    }
}
