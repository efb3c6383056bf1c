import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// What the kernel asks, and the commands with which it is answered; there is no bluetoothd.
@Suite(.timeLimit(.minutes(10))) struct PairingDialogueTests {
    private static let passkey: UInt32 = 624_813

    private final class Program: Sendable {
        private let asked = Mutex<[PairingQuestion]>([])
        private let answers: Mutex<[PairingQuestion.Answer]>

        init(_ answers: [PairingQuestion.Answer]) { self.answers = Mutex(answers) }

        var questions: [PairingQuestion] { asked.withLock { $0 } }

        var interview: PairingInterview {
            PairingInterview(.keyboardDisplay) { [self] question, reply in
                asked.withLock { $0.append(question) }
                for answer in answers.withLock({ $0 }) { reply(answer) }
            }
        }
    }

    private func dialogue(_ kernel: KernelDouble, _ program: Program) -> PairingDialogue {
        kernel.dialogue(asking: program.interview)
    }

    private static var octets: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: passkey >> (8 * $0)) } }

    @Test(
        arguments: [
            ([PairingQuestion.Answer.passkey(passkey), .passkey(1)], 0x1E, nil),
            ([.refuse(.unanswered)], 0x1F, .unanswered),
            ([.accept], 0x1F, nil), ([.refuse(.refused), .passkey(passkey)], 0x1F, .refused),
        ] as [([PairingQuestion.Answer], UInt16, PairingFailure?)]
    )
    func `a passkey that the kernel asks for is told it once, or refused`(
        _ answers: [PairingQuestion.Answer],
        _ opcode: UInt16,
        _ failure: PairingFailure?
    ) async throws {
        let (kernel, program) = (try KernelDouble(), Program(answers))
        let dialogue = dialogue(kernel, program)
        try kernel.tell(dialogue, 0x10, [])
        let command = try await kernel.answer()
        #expect(command?.opcode.rawValue == opcode && program.questions == [.passkey])
        #expect(opcode != 0x1E || command?.parameters.suffix(4) == Self.octets[...])
        if let failure { #expect(dialogue.failure(.authenticationFailed)?.pairingFailure == failure) }
        // The next command would be a second answer.
        kernel.management.submit(ManagementReadInformation()) { _ in }
        #expect(await kernel.next()?.opcode == .readInformation)
    }

    @Test(
        arguments: [(PairingQuestion.Answer.accept, 0x1C), (.refuse(.refused), 0x1D)]
            as [(PairingQuestion.Answer, UInt16)]
    )
    func `a number to compare is confirmed or not`(_ answer: PairingQuestion.Answer, _ opcode: UInt16) async throws {
        let (kernel, program) = (try KernelDouble(), Program([answer]))
        let dialogue = dialogue(kernel, program)
        try kernel.tell(dialogue, 0x0F, [0] + Self.octets)
        #expect(await kernel.next()?.opcode.rawValue == opcode)
        #expect(program.questions == [.comparison(Self.passkey)])
    }

    @Test func `consent needs nobody: who pairs wants it`() async throws {
        let (kernel, program) = (try KernelDouble(), Program([]))
        let dialogue = dialogue(kernel, program)
        try kernel.tell(dialogue, 0x0F, [1, 0, 0, 0, 0])
        #expect(await kernel.next()?.opcode == .userConfirmationReply)
        #expect(program.questions.isEmpty)
        dialogue.end()
    }

    @Test func `a passkey to show is shown; where nobody can show it the pairing is given up`() async throws {
        let (kernel, program) = (try KernelDouble(), Program([.refuse(.needsAnswers)]))
        let dialogue = dialogue(kernel, program)
        try kernel.tell(dialogue, 0x17, Self.octets + [2])
        #expect(try await kernel.answer(.invalidParameters)?.opcode == .cancelPairDevice)
        // Another program's pairing came first.
        #expect(await kernel.next()?.opcode == .userConfirmationNegativeReply)
        #expect(program.questions == [.display(Self.passkey, typed: 2)])
        let error = try #require(dialogue.failure(.cancelled))
        #expect(error.pairingFailure == .needsAnswers && error.remedy.contains("Link.pair(answers:)"))
    }

    @Test func `an answer after the end is no answer`() async throws {
        let kernel = try KernelDouble()
        let late = Mutex<PairingInterview.Reply?>(nil)
        let interview = PairingInterview(.keyboardOnly) { _, reply in
            late.withLock { $0 = reply }
            kernel.management.submit(ManagementReadInformation()) { _ in }
        }
        let dialogue = kernel.dialogue(asking: interview)
        try kernel.tell(dialogue, 0x10, [])
        #expect(try await kernel.answer()?.opcode == .readInformation)
        dialogue.end()
        late.withLock { $0 }?(.passkey(Self.passkey))
        kernel.loop.enqueue { kernel.management.submit(ManagementSetBondable(true)) { _ in } }
        #expect(await kernel.next()?.opcode == .setBondable)
    }

    @Test func `another peer's questions are left alone`() async throws {
        let (kernel, program) = (try KernelDouble(), Program([.accept]))
        let dialogue = dialogue(kernel, program)
        let packet = ManagementPacket(
            code: 0x10,
            index: ManagementIndex(rawValue: 0),
            parameters: [1, 2, 3, 4, 5, 6, 2]
        )
        let event = try ManagementEvent(decoding: packet)
        kernel.loop.enqueue {
            dialogue.received(event)
            kernel.management.submit(ManagementReadInformation()) { _ in }
        }
        #expect(await kernel.next()?.opcode == .readInformation)
        #expect(program.questions.isEmpty)
    }
}
