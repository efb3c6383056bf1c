import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// What the kernel doesn't remove at the end of an activity, since it is busy with another program's command, the
/// controller doesn't answer, or the adapter is off; and what it does remove, although a query fails.
@Suite(.timeLimit(.minutes(10))) struct BusyRemovalTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    private var instances: Int? { kernel.with { [number = kernel.central] in $0.adapters[number]?.instances.count } }

    /// Has the kernel refuse the next command of this kind.
    private func refuse(_ opcode: UInt16, _ status: ManagementStatus) {
        kernel.with { [number = kernel.central] in $0.adapters[number]?.answers[opcode] = status }
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
        #expect(kernel.monitors == 1)
        refuse(0x53, .busy)
        first.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 1)
        let second = await scan(radio)
        #expect(kernel.monitors == 1)
        second.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 0)
        withExtendedLifetime(radio) {}
    }

    /// As Linux 6.4 to 6.9 answers while the adapter is off, and as each answers what the power's end has interrupted.
    @Test(arguments: [ManagementStatus.failed, .notPowered])
    func `a monitor that stays on an adapter that is switched off is removed by the next scan`(
        _ status: ManagementStatus
    ) async throws {
        let radio = try run.radio()
        let number = kernel.central
        let first = await scan(radio)
        #expect(kernel.monitors == 1)
        refuse(0x53, status)
        kernel.with { $0.switchOff(number, by: nil) }
        await kernel.idle()
        #expect(kernel.monitors == 1)
        kernel.with { state in
            state.adapters[number]?.settings.insert(.powered)
            state.tell(number, 0x06, FakeState.octets(state.adapters[number]?.settings.rawValue ?? 0))
        }
        await kernel.idle()
        let second = await scan(radio)
        #expect(kernel.monitors == 1)
        second.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 0)
        first.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a monitor is removed though a query says at this moment that its adapter is absent`() async throws {
        let radio = try run.radio()
        let scan = await scan(radio)
        #expect(kernel.monitors == 1)
        kernel.with { $0.fail(.adapterInfo, .keepsFailing(ENODEV)) }
        #expect(radio.adapter.facts == nil)
        scan.cancel()
        await kernel.idle()
        #expect(kernel.monitors == 0)
        kernel.with { $0.fault = nil }
        withExtendedLifetime(radio) {}
    }

    /// As the kernel answers while it is busy, where the controller doesn't answer it, and where it refuses.
    @Test(arguments: [ManagementStatus.busy, .authenticationFailed, .failed])
    func `an advertising instance is removed by the next scan`(_ status: ManagementStatus) async throws {
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        refuse(0x3F, status)
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
