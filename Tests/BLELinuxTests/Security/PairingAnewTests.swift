import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A link that is encrypted is paired anew for better keys: what it fails with, alone and beside bluetoothd.
@Suite(.timeLimit(.minutes(10))) struct PairingAnewTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private let kernel: KernelDouble

    init() throws { kernel = try KernelDouble() }

    /// One that somebody would enter a passkey in, and that the kernel has begun.
    private func pairing(
        as capability: PairingCapability,
        beside bluetoothd: Bluetoothd.Presence
    ) async throws -> Events<Outcome> {
        var surroundings = kernel.pairingSurroundings()
        surroundings.bluetoothd = bluetoothd
        let interview = PairingInterview(capability) { _, reply in reply(.passkey(1)) }
        return try await kernel.begunPairingAnew(in: surroundings, asking: interview)
    }

    private func failure(of pairing: Events<Outcome>) async throws -> BLEError {
        try kernel.tellOfPeer(0x11, [ManagementStatus.authenticationFailed.rawValue])
        let outcome = try #require(await pairing.next())
        return try #require(#expect(throws: BLEError.self) { try outcome.get() })
    }

    @Test func `beside bluetoothd, where the kernel asks nobody, the error names bluetoothd and what to do`()
        async throws
    {
        let error = try await failure(of: pairing(as: .keyboardOnly, beside: .here))
        #expect(error.code == .securityFailed && error.pairingFailure == .refusedByBluetoothd && error.isFinal)
        #expect(error.cause.contains("bluetoothd") && !error.cause.contains("the peripheral refused"))
        for way in ["Peripheral.unpair()", "systemctl stop bluetooth"] { #expect(error.remedy.contains(way)) }
    }

    @Test func `alone it is the peripheral that has refused`() async throws {
        let error = try await failure(of: pairing(as: .keyboardOnly, beside: .absent))
        #expect(error.pairingFailure == .refusedByPeripheral && !"\(error)".contains("bluetoothd"))
    }

    @Test func `who could answer nothing anyway isn't told of bluetoothd's place`() async throws {
        let error = try await failure(of: pairing(as: .noInputNoOutput, beside: .here))
        #expect(error.pairingFailure == .refusedByPeripheral)
    }

    @Test func `who was asked, and entered a wrong passkey, is told that`() async throws {
        let pairing = try await pairing(as: .keyboardOnly, beside: .absent)
        try kernel.tellOfPeer(0x10, [])
        #expect(await kernel.next()?.opcode == .userPasskeyReply)
        #expect(try await failure(of: pairing).pairingFailure == .wrongPasskey)
    }

    @Test func `beside bluetoothd, where somebody was asked, it isn't the adapter's setting`() async throws {
        let pairing = try await pairing(as: .keyboardOnly, beside: .here)
        try kernel.tellOfPeer(0x10, [])
        #expect(await kernel.next()?.opcode == .userPasskeyReply)
        // It has no agent to ask, since there is no bus.
        #expect(try await failure(of: pairing).cause.contains("it has no agent"))
    }

    @Test func `out-of-band data alone is too late, and the peripheral isn't blamed for it`() async throws {
        let data = try #require(OutOfBandData(octets: [17, 0x22] + (0..<16) + [17, 0x23] + (0..<16)))
        let pairing = Events<Outcome> { [kernel] yield in
            let pairing = PairingAnew(
                with: .example,
                in: kernel.pairingSurroundings(),
                asking: PairingInterview(.noInputNoOutput, outOfBand: data) { _, _ in },
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            ) {}
            kernel.loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        await kernel.loop.turn()
        // What comes next if nothing is set for a pairing.
        kernel.management.submit(ManagementReadLocalOutOfBandData()) { _ in }
        try #require(await kernel.next()?.opcode == ManagementReadLocalOutOfBandData.opcode)
        let outcome = try #require(await pairing.next())
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.code == .securityFailed && error.pairingFailure == nil && error.isFinal)
        #expect(error.cause.contains("out-of-band") && error.remedy.contains("Peripheral.unpair()"))
    }
}
