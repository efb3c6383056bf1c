import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// A bluetoothd that leaves or comes while a program serves, perhaps for months, and what a refusal is told as then.
extension PairingReceiverTests {
    /// The failure of a pairing that this side has agreed to.
    private func failure(on bench: Bench) async throws -> BLEError? {
        try bench.connect()
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationReply)
        try bench.kernel.tellOfPeer(0x11, [5])
        guard case .failed(.example, let error) = await bench.events.next() else { return nil }
        return error
    }

    @Test func `a central's refusal is not told as that of a bluetoothd that has left`() async throws {
        let bench = try await begun(.noInputNoOutput, beside: .here)
        bench.kernel.loop.enqueue { bench.receiver.bluetoothdAsked(.released) }
        await bench.kernel.loop.turn()
        let error = try await failure(on: bench)
        #expect(error?.pairingFailure == .refusedByCentral && error?.description.contains("bluetoothd") == false)
    }

    /// It tells no agent that it leaves.
    @Test func `nor as that of one that took no agent, and has left`() async throws {
        let bench = try await begun(.noInputNoOutput, beside: .here)
        let denial = BusFailure.refused(name: "org.freedesktop.DBus.Error.AccessDenied", text: "Rejected")
        bench.receiver.state.withLock { $0.agentOutcome = .failed(denial) }
        bench.kernel.loop.enqueue { bench.receiver.bluetoothdLeft() }
        await bench.kernel.loop.turn()
        let error = try await failure(on: bench)
        #expect(error?.pairingFailure == .refusedByCentral && error?.description.contains("bluetoothd") == false)
    }

    @Test func `a bluetoothd that has come since, and takes no agent, is named`() async throws {
        let bench = try await begun(.noInputNoOutput)
        bench.kernel.loop.enqueue { bench.receiver.bluetoothdCame() }
        try await bench.begin()
        #expect(try await bench.kernel.answer()?.opcode == .setIOCapability)
        guard case .started = await bench.events.next() else {
            Issue.record("not started")
            return
        }
        let denial = BusFailure.refused(name: "org.freedesktop.DBus.Error.AccessDenied", text: "Rejected")
        bench.receiver.state.withLock { $0.agentOutcome = .failed(denial) }
        let error = try await failure(on: bench)
        #expect(error?.pairingFailure == .refusedByBluetoothd && error?.cause.contains("AccessDenied") == true)
    }

    /// Without an agent it refuses at once, while this program still registers: the bus, which accepts nobody, answers
    /// nothing.
    @Test(.needsLibDBus, arguments: [true, false])
    func `a bluetoothd that has come, or was there, may have refused before this program is its agent`(
        _ hasCome: Bool
    ) async throws {
        let name = FakeBus.newName()
        let place = FakeBus.place(of: name)
        let bench: Bench
        let listener: FileDescriptor
        if hasCome {
            bench = try await begun(.noInputNoOutput, on: place)
            listener = try FakeBus.listen("\0" + name)
            bench.kernel.loop.enqueue { bench.receiver.bluetoothdCame() }
        } else {
            listener = try FakeBus.listen("\0" + name)
            bench = try Bench(.noInputNoOutput, beside: .here, on: place)
        }
        await bench.kernel.loop.turn()
        let error = try await failure(on: bench)
        #expect(error?.pairingFailure == .refusedByBluetoothd && error?.isFinal == false, "\(error as Any)")
        #expect(error?.cause.contains("bus") == false && error?.remedy.contains("from the central") == true)
        withExtendedLifetime(listener) {}
    }
}
