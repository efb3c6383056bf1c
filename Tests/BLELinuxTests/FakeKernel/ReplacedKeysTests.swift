import BLEProtocol
import BLERadio
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
        let adapter = try #require(radio.adapterInfo.address)
        let value = try #require(SecretKey(octets: Array(1...16)))
        let key = Bond.EncryptionKey(kind: 3, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
        let bond = Bond(peer: .example, adapter: adapter, encryptionKeys: [key], identityKey: nil)
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
}
