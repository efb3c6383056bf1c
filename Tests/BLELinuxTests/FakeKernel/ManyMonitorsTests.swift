import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter with as many advertisement monitors as the kernel takes, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ManyMonitorsTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            for number in state.adapters.keys { state.adapters[number]?.monitors = Set(1...32) }
        }
    )

    @Test func `a passive scan without the right to send packets says so, with what to do`() async throws {
        run.kernel.with { $0.isRaw = false }
        let radio = try run.radio()
        let failure = await #expect(throws: BLEError.self) {
            try await run.hear(radio, ScanRequest(isActive: false))
        }
        #expect(failure?.code == .busy && failure?.cause.contains("monitors") == true)
        #expect(failure?.remedy.contains("Central.reset()") == true && run.kernel.monitors == 32)
    }

    @Test(arguments: [true, false])
    func `other scans do without one`(_ isActive: Bool) async throws {
        let radio = try run.radio()
        try await run.hear(radio, ScanRequest(isActive: isActive, reportsDuplicates: true))
        #expect(run.kernel.monitors == 32)
    }
}
