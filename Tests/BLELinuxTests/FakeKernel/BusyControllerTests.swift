import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// A controller that disallows commands, for a moment or for good, on a kernel in memory.
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

    /// The kernel does what it must before it switches the adapter off, such as to end a scan, and gives up where the
    /// controller disallows that.
    @Test(arguments: [ManagementStatus.busy, .failed])
    func `a power cycle closes the adapter that the kernel doesn't switch off`(_ status: ManagementStatus) async throws
    {
        let number = run.kernel.central
        let radio = try run.radio()
        run.kernel.with { $0.adapters[number]?.refusesToSwitchOff = status }
        let outcome: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        #expect(outcome.failure == nil)
        #expect(run.kernel.with { $0.calls[.adapterDown] } == 1)
        #expect(radio.adapterInfo.state == .poweredOn)
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        #expect(radio.adapterInfo.state == .poweredOff)
    }

    @Test func `who may not close it is told what the kernel has answered`() async throws {
        let number = run.kernel.central
        let radio = try run.radio()
        run.kernel.with { state in
            state.adapters[number]?.refusesToSwitchOff = .busy
            state.fail(.adapterDown, .keepsFailing(EPERM))
        }
        let outcome: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        #expect(outcome.failure?.code == .busy && outcome.failure?.operation == "switch off")
        #expect(radio.adapterInfo.state == .poweredOn)
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
