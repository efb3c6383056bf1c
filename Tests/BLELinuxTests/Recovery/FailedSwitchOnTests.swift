import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter that is off, and that can't be switched on; on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FailedSwitchOnTests {
    private static let setPowered: UInt16 = 0x05

    private let run = FakeRun(kernel: FakeKernel())

    /// The kernel fails, the controller doesn't answer the kernel, or the kernel doesn't answer.
    @Test(arguments: [.failed, .authenticationFailed, nil] as [ManagementStatus?])
    func `it is to be reset or unplugged, not to be switched off and on`(_ status: ManagementStatus?) async throws {
        let (number, radio) = (run.kernel.central, try run.radio())
        run.kernel.with { [opcode = Self.setPowered] state in
            state.switchOff(number, by: nil)
            if let status { state.adapters[number]?.answers[opcode] = status }
            if status == nil { state.adapters[number]?.silent.insert(opcode) }
        }
        let outcome: Result<Void, BLEError> = try await run.first("switching on") {
            radio.setPowered(true, result: $0)
        } _: {
            $0
        }.value
        guard case .failure(let error) = outcome else { return #expect(Bool(false), "it is on") }
        #expect(error.operation == "switch on" && !error.isFinal && radio.adapterInfo.state == .poweredOff)
        #expect(error.remedy.contains("`Central.reset()`") && error.remedy.contains("unplug it"), "\(error)")
        #expect(!error.remedy.contains("powerCycle") && !error.remedy.contains("off and on"), "\(error)")
    }
}
