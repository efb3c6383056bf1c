import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A central that has told its identity on its link pairs again: the kernel names it by that from then on. bluetoothd's
/// question comes first, as it does where the kernel's waits to be read, among advertisements.
extension PairingReceiverTests {
    private static let identity = BluetoothAddress(rawValue: 0x00AA_0101_00C1, kind: .public)

    /// A central that has told it, in the pairing that made a bond of this kind, and of which bluetoothd asks now.
    private func asked(afterKey kind: UInt8, _ capability: PairingCapability, isConsent: Bool) async throws -> Bench {
        let bench = try await begun(capability)
        try bench.connect()
        try bench.kernel.tellIdentity(Self.identity)
        try bench.kernel.tellKey(kind: kind, of: Self.identity)
        guard case .paired(.example, let bond?) = await bench.events.next() else {
            Issue.record("not paired")
            return bench
        }
        #expect(bond.peer == Self.identity)
        let management = bench.kernel.management
        bench.kernel.loop.enqueue {
            bench.receiver.bluetoothdAsked(.asked(octets: Self.identity.rawValue, isConsent: isConsent))
            management.submit(ManagementReadInformation()) { _ in }
        }
        #expect(try await bench.kernel.answer()?.opcode == .readInformation)
        return bench
    }

    @Test func `the number of a central that has told its identity is put to the program`() async throws {
        let bench = try await asked(afterKey: 2, .keyboardDisplay, isConsent: false)
        try bench.kernel.tell(0x0F, ManagementAddress(Self.identity).octets + [0] + Self.octets)
        let management = bench.kernel.management
        management.whenRead { management.submit(ManagementReadInformation()) { _ in } }
        #expect(await bench.nextCommand() == .readInformation)
        #expect(bench.questions == [.comparison(Self.passkey)])
    }

    @Test func `just works replaces no bond that somebody made sure of, whoever asks first`() async throws {
        let bench = try await asked(afterKey: 3, .keyboardDisplay, isConsent: true)
        try bench.kernel.tell(0x11, ManagementAddress(Self.identity).octets + [5])
        guard case .failed(.example, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .wouldWeakenBond)
    }
}
