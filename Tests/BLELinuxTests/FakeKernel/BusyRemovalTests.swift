import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What the kernel doesn't remove at the end of an activity, since it is busy with another program's command.
@Suite(.timeLimit(.minutes(10))) struct BusyRemovalTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    private var monitors: Int? { kernel.with { [number = kernel.central] in $0.adapters[number]?.monitors.count } }
    private var instances: Int? { kernel.with { [number = kernel.central] in $0.adapters[number]?.instances.count } }

    /// Has the kernel answer the next command of this kind that it is busy.
    private func beBusy(_ opcode: UInt16) {
        kernel.with { [number = kernel.central] in $0.adapters[number]?.answers[opcode] = .busy }
    }

    /// Scans until the monitor is there.
    private func scan(_ radio: LinuxRadio) async -> RadioActivity {
        let scan = radio.scan(ScanRequest(isActive: false)) { _ in }
        await kernel.idle()
        return scan
    }

    @Test func `a monitor is removed by the next scan`() async throws {
        let radio = try run.radio()
        let first = await scan(radio)
        #expect(monitors == 1)
        beBusy(0x53)
        first.cancel()
        await kernel.idle()
        #expect(monitors == 1)
        let second = await scan(radio)
        #expect(monitors == 1)
        second.cancel()
        await kernel.idle()
        #expect(monitors == 0)
        withExtendedLifetime(radio) {}
    }

    @Test func `an instance whose removal the controller left unanswered is removed by the next scan`() async throws {
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        kernel.with { [number = kernel.central] in $0.adapters[number]?.answers[0x3F] = .authenticationFailed }
        advertisement.cancel()
        await kernel.idle()
        #expect(instances == 1)
        let scan = await scan(radio)
        #expect(instances == 0)
        scan.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `an advertising instance is removed by the next scan`() async throws {
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        beBusy(0x3F)
        advertisement.cancel()
        await kernel.idle()
        #expect(instances == 1)
        let scan = await scan(radio)
        #expect(instances == 0)
        scan.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
