import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Keys that another program has removed from the kernel with a list of its own, as a bluetoothd does that starts; seen
/// by a program that may read the kernel's list, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ReplacedKeysTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            for number in state.adapters.keys {
                let folder = "/sys/kernel/debug/bluetooth/hci\(number)"
                state.files["\(folder)/long_term_keys"] = []
                state.files["\(folder)/identity_resolving_keys"] = []
            }
        }
    )

    @Test func `a bond that was made here is given to the kernel again`() async throws {
        let (kernel, number, radio) = (run.kernel, run.kernel.central, try run.radio())
        let bond = try bond(of: radio)
        kernel.with { state in
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(number, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await kernel.idle()
        #expect(radio.keys.isKnown(.example))
        // The kernel's list, which is read now, has no key any more.
        try await run.result("restoring") { radio.restore([bond], result: $0) }
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 1)
    }

    /// For more than its key has, the kernel would pair.
    @Test(
        arguments: [
            (2, 3, .secureConnections), (3, 1, .authenticated), (3, 2, .authenticated),
        ] as [(UInt8, UInt8, LinkSecurity.Level)]
    )
    func `another program's key that stays is used at its own level, but for no less than an authenticated bond`(
        _ kind: UInt8,
        _ foreignKind: UInt8,
        _ level: LinkSecurity.Level
    ) async throws {
        let (kernel, number, radio) = (run.kernel, run.kernel.central, try run.radio())
        var bond = try bond(of: radio)
        bond.encryptionKeys[0].kind = kind
        let type = BluetoothAddress.example.kind == .public ? 0 : 1
        let digits = String(repeating: "7", count: 32)
        let key = "\(foreignKind & 1) \(foreignKind < 2 ? "0x01" : "0x03") 16 0000 0000000000000000 \(digits)"
        kernel.with { state in
            let file = "/sys/kernel/debug/bluetooth/hci\(number)/long_term_keys"
            state.files[file] = Array("\(BluetoothAddress.example) (type \(type)) \(key)\n".utf8)
        }
        try await run.result("restoring") { [bond] in radio.restore([bond], result: $0) }
        #expect(radio.hasForeignKey(of: .example) && radio.keyLevel(of: .example) == level)
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 0)
    }

    /// One of its two files.
    @Test(arguments: 1...2)
    func `a list that can't be read for want of descriptors is not replaced by another one`(_ file: Int) async throws {
        let (kernel, number, radio) = (run.kernel, run.kernel.central, try run.radio())
        let bond = try bond(of: radio)
        await kernel.idle()
        kernel.with { $0.fail(.open, .fails(EMFILE), at: file) }
        let outcome: Result<Void, BLEError> = try await run.first("restoring") {
            radio.restore([bond], result: $0)
        } _: {
            $0
        }.value
        #expect(outcome.failure?.code == .systemFailure && outcome.failure?.systemError == EMFILE)
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 0)
        try await run.result("restoring") { radio.restore([bond], result: $0) }
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 1)
    }

    @Test func `more keys than the kernel takes in a list are an error, and as many as it takes are loaded`()
        async throws
    {
        let (kernel, number, radio) = (run.kernel, run.kernel.central, try run.radio())
        let bond = try bond(of: radio)
        let bonds = (0...1820).map { count in
            let peer = BluetoothAddress(rawValue: 0xC000_0000_0000 + UInt64(count), kind: .random)
            return Bond(peer: peer, adapter: bond.adapter, encryptionKeys: bond.encryptionKeys, identityKey: nil)
        }
        let outcome: Result<Void, BLEError> = try await run.first("restoring") {
            radio.restore(bonds, result: $0)
        } _: {
            $0
        }.value
        #expect(outcome.failure?.code == .securityFailed)
        #expect(outcome.failure?.cause.contains("1821 keys") == true, "\(outcome)")
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 0)
        try await run.result("restoring") { radio.restore(Array(bonds.dropLast()), result: $0) }
        #expect(kernel.with { $0.adapters[number]?.keyLists } == 1)
    }

    private func bond(of radio: LinuxRadio) throws -> Bond {
        let adapter = try #require(radio.adapterInfo.address)
        let value = try #require(SecretKey(octets: Array(1...16)))
        let key = Bond.EncryptionKey(kind: 3, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
        return Bond(peer: .example, adapter: adapter, encryptionKeys: [key], identityKey: nil)
    }
}
