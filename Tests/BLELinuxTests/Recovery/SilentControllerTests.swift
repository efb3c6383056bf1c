import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A controller that leaves commands unanswered, which the kernel reports as a failed authentication; on a kernel in
/// memory.
@Suite(.timeLimit(.minutes(10))) struct SilentControllerTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    /// The error and the symptoms of what the closure does while the controller doesn't answer a command.
    private func silence(
        at opcode: UInt16,
        _ body: (LinuxRadio) async throws -> Void
    ) async throws -> (error: BLEError?, symptoms: [AdapterInfo.Symptom]) {
        let (radio, number) = (try run.radio(), kernel.central)
        kernel.with { $0.adapters[number]?.answers[opcode] = .authenticationFailed }
        let symptoms = FakeRun.Collector<AdapterInfo.Symptom>()
        let watch = radio.observeSymptoms { symptoms.add($0) }
        defer { watch.cancel() }
        var failure: BLEError?
        do {
            try await body(radio)
        } catch let error as BLEError {
            failure = error
        }
        return (failure, symptoms.all)
    }

    @Test(
        arguments: [
            (0x54, "Add Extended Advertising Parameters"), (0x55, "Add Extended Advertising Data"),
        ] as [(UInt16, String)]
    )
    func `one that does not begin to advertise is said to be silent`(_ opcode: UInt16, _ name: String) async throws {
        let (error, symptoms) = try await silence(at: opcode) { try await run.advertise($0).cancel() }
        #expect(error?.code == .timedOut && error?.cause == "the controller does not answer (\(name))")
        #expect(error?.remedy.contains("Central.powerCycle()") == true && error?.isFinal == false)
        #expect(symptoms == [.unanswered(name)])
    }

    @Test func `one that takes no PHYs is said to be silent`() async throws {
        let (error, symptoms) = try await silence(at: 0x45) { radio in
            try await run.result("selecting PHYs") { radio.selectPHYs(AdapterPHYs.Selection([.le1M]), result: $0) }
        }
        #expect(error?.code == .timedOut && symptoms == [.unanswered("Set PHY Configuration")])
    }
}
