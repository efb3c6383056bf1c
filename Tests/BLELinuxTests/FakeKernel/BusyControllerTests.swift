import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Scans with a controller that disallows them for a moment, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct BusyControllerTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    @Test func `what the controller disallows for a moment is heard a moment later`() async throws {
        // No program discovers: the kernel has the same word for what the controller disallows.
        run.kernel.with { [number = run.kernel.central] in $0.adapters[number]?.answers[0x23] = .busy }
        let radio = try run.radio()
        try await run.hear(radio, ScanRequest(reportsDuplicates: false))
        #expect(run.timeline.now <= .seconds(2))
        withExtendedLifetime(radio) {}
    }

    @Test func `it is asked again soon, and now and then if it stays so`() {
        typealias Output = DiscoveryMachine.Output
        let busy = ManagementFailure.status(.busy, .startDiscovery)
        var machine = DiscoveryMachine()
        _ = machine.begin()
        let soon = Output(timer: .start(DiscoveryMachine.retryDelay), report: .listening)
        for _ in 0..<DiscoveryMachine.busyPatience {
            #expect(machine.startAnswered(busy, isShared: false) == soon)
            #expect(!machine.isSharing)
            #expect(machine.timerFired() == Output(command: .start))
        }
        let late = Output(timer: .start(DiscoveryMachine.missedEndDeadline), report: .listening)
        for _ in 0..<2 {
            #expect(machine.startAnswered(busy, isShared: false) == late)
            #expect(machine.timerFired() == Output(command: .start))
        }
        // It counts anew once it has discovered.
        #expect(machine.startAnswered(nil).report == .listening)
        #expect(machine.discoveryEnded().command == .start)
        #expect(machine.startAnswered(busy, isShared: false) == soon)
        #expect(machine.cancel() == Output(timer: .cancel))
    }

    @Test func `another program's discovery is used, and not ended`() async throws {
        let number = run.kernel.central
        run.kernel.with { state in
            state.adapters[number]?.isDiscovering = true
            state.adapters[number]?.discoveryType = 7
        }
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(reportsDuplicates: false)) { events.add($0) }
        await run.kernel.idle()
        #expect(run.kernel.with { $0.adapters[number]?.isDiscovering } == true)
        run.kernel.with { $0.hear(number) }
        await run.kernel.idle()
        #expect(events.all.contains { if case .reports = $0 { true } else { false } })
        scan.cancel()
        await run.kernel.idle()
        #expect(run.kernel.with { $0.adapters[number]?.isDiscovering } == true)
        withExtendedLifetime(radio) {}
    }
}
