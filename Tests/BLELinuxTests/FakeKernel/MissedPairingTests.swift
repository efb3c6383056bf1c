import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Pairings for better keys whose end was missed: the management socket had no room for it.
@Suite(.timeLimit(.minutes(10))) struct MissedPairingTests {
    private typealias Outcomes = FakeRun.Collector<Result<Bond?, BLEError>>

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.peers[.example]?.pairing = .passkey
        }
    )

    private var kernel: FakeKernel { run.kernel }

    /// Has the kernel ask for a passkey, which nobody here enters, and lose events, among which is what the body does.
    private func pair(
        on radio: LinuxRadio,
        _ outcomes: Outcomes,
        missing body: @Sendable (inout FakeState) -> Void
    ) async -> RadioActivity {
        let number = kernel.central
        let questions = FakeRun.Collector<PairingQuestion>()
        kernel.with { $0.makeLink(of: number, isCentral: true) }
        await kernel.idle()
        let interview = PairingInterview(.keyboardOnly) { question, _ in questions.add(question) }
        let pairing = radio.pairAnew(with: .example, to: .authenticated, asking: interview) { outcomes.add($0) }
        await kernel.idle()
        #expect(questions.all == [.passkey])
        await kernel.lose(on: number, body)
        #expect(outcomes.all.isEmpty)
        return pairing
    }

    @Test func `a pairing whose failure was missed fails in the time that one can take, and says why`() async throws {
        let number = kernel.central
        let radio = try run.radio()
        let outcomes = Outcomes()
        let status = ManagementStatus.authenticationFailed.rawValue
        let pairing = await pair(on: radio, outcomes) { state in
            state.tell(number, 0x11, ManagementAddress(.example).octets + [status])
        }
        let isOver = await kernel.run(run.timeline, within: .seconds(90)) { !outcomes.all.isEmpty }
        #expect(isOver)
        if case .failure(let error)? = outcomes.all.first {
            #expect(error.code == .securityFailed && error.cause.contains("was lost") && !error.remedy.isEmpty)
        } else {
            Issue.record("not failed")
        }
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing that goes on behind a loss of other events ends as it does`() async throws {
        let number = kernel.central
        let radio = try run.radio()
        let outcomes = Outcomes()
        let pairing = await pair(on: radio, outcomes) { $0.tellOfDevice(number) }
        kernel.with { state in
            let failed = ManagementAddress(.example).octets + [ManagementStatus.authenticationFailed.rawValue]
            state.tell(number, 0x11, failed)
        }
        await kernel.idle()
        if case .failure(let error)? = outcomes.all.first {
            #expect(error.pairingFailure == .refusedByPeripheral)
        } else {
            Issue.record("not failed")
        }
        _ = await kernel.run(run.timeline, within: .seconds(90)) { outcomes.all.count > 1 }
        #expect(outcomes.all.count == 1)
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
