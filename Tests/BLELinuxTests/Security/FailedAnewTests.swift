import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A bonded central that pairs anew and fails: the kernel may have written the new key over the former one, and has
/// removed both then.
@Suite(.timeLimit(.minutes(10))) struct FailedAnewTests {
    private typealias Received = Events<PairingReceptionEvent>

    private let kernel: KernelDouble
    private let keys: KernelKeys

    init() throws {
        kernel = try KernelDouble()
        keys = KernelKeys(management: kernel.management)
    }

    /// A reception that gives each question this answer, and has an authenticated bond with the example peer, which is
    /// asked again.
    private func asked(answering answer: PairingQuestion.Answer) async throws -> Received {
        let reception = PairingReception(.displayYesNo) { _ in
            PairingInterview(.displayYesNo) { _, reply in reply(answer) }
        }
        let events = Received { [kernel, keys] yield in
            let receiver = PairingReceiver(
                reception,
                in: kernel.pairingSurroundings(keys: keys),
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            )
            kernel.loop.enqueue { receiver.begin() }
            return RadioActivity { receiver.cancel() }
        }
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        #expect(try await kernel.answer()?.opcode == .setIOCapability)
        _ = await events.next()
        try kernel.tellOfPeer(0x0B, [0, 0, 0, 0, 0, 0])
        try kernel.tellKey(kind: 3)
        guard case .paired = await events.next() else {
            Issue.record("not paired")
            return events
        }
        #expect(keys.isKnown(.example))
        try kernel.tellOfPeer(0x0F, [0, 1, 0, 0, 0])
        let reply: ManagementOpcode = answer == .accept ? .userConfirmationReply : .userConfirmationNegativeReply
        #expect(await kernel.next()?.opcode == reply)
        return events
    }

    @Test(arguments: [(0x11, 5), (0x0C, 1)] as [(UInt8, UInt8)])
    func `its key is in doubt then, but Just Works doesn't replace its bond`(event: UInt8, status: UInt8) async throws {
        let events = try await asked(answering: .accept)
        try kernel.tellOfPeer(event, [status])
        guard case .failed = await events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(!keys.isKnown(.example) && keys.isAuthenticated(.example))
    }

    @Test func `what this side refuses has made no key`() async throws {
        let events = try await asked(answering: .refuse(.refused))
        try kernel.tellOfPeer(0x11, [5])
        guard case .failed = await events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(keys.isKnown(.example) && keys.isAuthenticated(.example))
    }
}
