import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// A question of the kernel's whose answer comes late or never: a program that was stopped, or nobody was there.
@Suite(.timeLimit(.minutes(10))) struct LateAnswerTests {
    private static let passkey: UInt32 = 624_813

    /// A dialogue whose program has been asked for a passkey.
    private struct Bench {
        let kernel: KernelDouble
        let dialogue: PairingDialogue
        let reply: PairingInterview.Reply
    }

    private func asked(_ event: UInt16 = 0x10, _ rest: [UInt8] = []) async throws -> Bench {
        let kernel = try KernelDouble()
        let replies = Mutex<PairingInterview.Reply?>(nil)
        let interview = PairingInterview(.keyboardDisplay) { _, reply in
            replies.withLock { $0 = reply }
            kernel.management.submit(ManagementReadInformation()) { _ in }
        }
        let dialogue = kernel.dialogue(asking: interview)
        try kernel.tell(dialogue, event, rest)
        #expect(try await kernel.answer()?.opcode == .readInformation)
        let reply = try #require(replies.withLock { $0 })
        return Bench(kernel: kernel, dialogue: dialogue, reply: reply)
    }

    private func end(_ bench: Bench, _ reason: ManagementDisconnectReason) async throws {
        bench.kernel.loop.enqueue {
            bench.dialogue.linkEnded(reason)
            bench.kernel.management.submit(ManagementReadInformation()) { _ in }
        }
        #expect(try await bench.kernel.answer()?.opcode == .readInformation)
    }

    @Test(
        arguments: [
            (29, ManagementDisconnectReason.localHost, true), (31, .localHost, true), (3600, .localHost, true),
            (31, .unspecified, true), (10, .unspecified, false),
            (10, .localHost, false), (31, .remote, false), (31, .timeout, false),
        ]
    )
    func `a link that the kernel dropped after its half minute was dropped because nobody here had answered`(
        _ seconds: Int,
        _ reason: ManagementDisconnectReason,
        _ isUnanswered: Bool
    ) async throws {
        let bench = try await asked()
        bench.kernel.timeline.pass(.seconds(seconds))
        try await end(bench, reason)
        let failure = bench.dialogue.failure(.disconnected)?.pairingFailure
        #expect(failure == (isUnanswered ? .unanswered : nil))
        guard isUnanswered else { return }
        // What is said afterwards changes nothing.
        bench.reply(.passkey(Self.passkey))
        try await end(bench, reason)
        #expect(bench.dialogue.failure(.disconnected)?.pairingFailure == failure)
    }

    @Test(arguments: [(29, true), (31, false)])
    func `an answer counts for as long as the kernel waits for it`(_ seconds: Int, _ counts: Bool) async throws {
        let bench = try await asked()
        bench.kernel.timeline.pass(.seconds(seconds))
        bench.reply(.passkey(Self.passkey))
        let opcode = await bench.kernel.next()?.opcode
        #expect(opcode == (counts ? .userPasskeyReply : .userPasskeyNegativeReply))
        #expect(bench.dialogue.failure(.disconnected)?.pairingFailure == (counts ? nil : .unanswered))
    }

    @Test func `a passkey that is shown for long awaits the peer, and can be refused at any time`() async throws {
        let octets = (0..<4).map { UInt8(truncatingIfNeeded: Self.passkey >> (8 * $0)) }
        let bench = try await asked(0x17, octets + [0])
        bench.kernel.timeline.pass(.seconds(31))
        try await end(bench, .localHost)
        #expect(bench.dialogue.failure(.disconnected) == nil)
        bench.reply(.refuse(.refused))
        #expect(await bench.kernel.next()?.opcode == .cancelPairDevice)
        #expect(bench.dialogue.failure(.cancelled)?.pairingFailure == .refused)
    }

    @Test func `a pairing that was begun here tells it`() async throws {
        let kernel = try KernelDouble()
        let interview = PairingInterview(.keyboardOnly) { _, _ in
            kernel.management.submit(ManagementReadInformation()) { _ in }
        }
        let outcomes = try await kernel.begunPairing(asking: interview)
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        try kernel.tellOfPeer(0x10, [])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        kernel.timeline.pass(.seconds(31))
        try kernel.tellOfPeer(0x0C, [2])
        try kernel.answer(to: .pairDevice, .disconnected, with: [UInt8](repeating: 0, count: 7))
        let settled = Events<Void> { yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        _ = await settled.next()
        kernel.timeline.fire(Pairing.powerReport)
        guard case .failure(let error)? = await outcomes.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .unanswered && error.cause.contains("did not answer in time"))
    }
}
