import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A scan whose advertisement monitor the kernel can't add yet, since it is busy with another program's, on a kernel in
/// memory.
@Suite(.timeLimit(.minutes(10))) struct BusyMonitorTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    /// The kernel answers the next wish for a monitor that it is busy.
    private func beBusyOnce() {
        kernel.with { [number = kernel.central] in $0.adapters[number]?.answers[0x52] = .busy }
    }

    @Test(arguments: [true, false])
    func `the scan goes on, and has its monitor a moment later`(_ isActive: Bool) async throws {
        beBusyOnce()
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(isActive: isActive, reportsDuplicates: true)) { events.add($0) }
        _ = await kernel.run(run.timeline, within: MonitorMachine.pause * 2) { false }
        #expect(kernel.monitors == 1)
        let hasFailed = events.all.contains { if case .failed = $0 { true } else { false } }
        let hasHeard = events.all.contains { if case .reports = $0 { true } else { false } }
        #expect(!hasFailed && hasHeard)
        scan.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 0)
        withExtendedLifetime(radio) {}
    }

    /// For as long as Linux 6.12 tries to connect to a peer, which another program's monitor has to wait for.
    @Test(arguments: [true, false])
    func `the scan has its monitor also if the kernel was busy for as long as it may be`(
        _ isActive: Bool
    ) async throws {
        beBusyOnce()
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(isActive: isActive, reportsDuplicates: true)) { events.add($0) }
        await kernel.idle()
        for _ in 1...20 {
            beBusyOnce()
            _ = await kernel.run(run.timeline, within: MonitorMachine.pause) { false }
        }
        _ = await kernel.run(run.timeline, within: MonitorMachine.pause) { false }
        #expect(kernel.monitors == 1)
        let hasFailed = events.all.contains { if case .failed = $0 { true } else { false } }
        let hasHeard = events.all.contains { if case .reports = $0 { true } else { false } }
        #expect(!hasFailed && hasHeard)
        scan.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 0)
        withExtendedLifetime(radio) {}
    }
}
