import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter whose controller looks at the patterns of advertisement monitors itself, on a kernel in memory: no
/// monitor hears all advertisements there.
@Suite(.timeLimit(.minutes(10))) struct OffloadedMonitorTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            for number in state.adapters.keys { state.adapters[number]?.matchesPatterns = true }
        }
    )

    @Test func `a passive scan without the right to send packets says which right that is, and that others do`()
        async throws
    {
        run.kernel.with { $0.isRaw = false }
        let radio = try run.radio()
        let failure = await #expect(throws: BLEError.self) {
            try await run.hear(radio, ScanRequest(isActive: false))
        }
        #expect(failure?.code == .permissionDenied && failure?.cause.contains("CAP_NET_RAW") == true)
        #expect(failure?.remedy.contains("cap_net_raw") == true && failure?.remedy.contains("scan actively") == true)
        try await run.hear(radio, ScanRequest(isActive: true, reportsDuplicates: true))
    }

    @Test(arguments: [true, false])
    func `with that right all scans do without a monitor`(_ isActive: Bool) async throws {
        let radio = try run.radio()
        try await run.hear(radio, ScanRequest(isActive: isActive, reportsDuplicates: true))
        #expect(run.kernel.monitors == 0)
    }
}
