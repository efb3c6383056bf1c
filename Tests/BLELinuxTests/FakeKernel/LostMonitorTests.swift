import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An active scan for every advertisement whose monitor other programs remove until it gives up, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct LostMonitorTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    /// Another program removes all monitors, and the scan has time to add its own again.
    private func removeMonitors() async {
        kernel.with { [number = kernel.central] state in
            state.adapters[number]?.monitors = []
            state.tell(number, 0x2C, [0, 0])
        }
        _ = await kernel.run(run.timeline, within: MonitorMachine.pause) { false }
    }

    @Test func `it goes on in rounds, since a device is reported once in each discovery then`() async throws {
        let radio = try run.radio()
        let ends = FakeRun.Collector<Bool>()
        let observation = radio.management?.observe { events in
            for event in events { if case .discovering(_, isOn: false) = event.event { ends.add(true) } }
        }
        let scan = radio.scan(ScanRequest(reportsDuplicates: true)) { _ in }
        await kernel.idle()
        for _ in 0...MonitorMachine.patience { await removeMonitors() }
        #expect(kernel.monitors == 0 && ends.all.isEmpty)
        _ = await kernel.run(run.timeline, within: DiscoveryMachine.round * 2) { false }
        #expect(ends.all.count == 2)
        scan.cancel()
        observation?.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
