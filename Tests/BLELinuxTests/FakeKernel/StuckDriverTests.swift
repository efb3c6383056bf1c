import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A driver for which the kernel waits when it is to close the adapter, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct StuckDriverTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
            state.stuckThreads["ble-off"] = []
            state.plugAllIntoUSB()
        }
    )

    private var kernel: FakeKernel { run.kernel }

    /// A radio whose controller lets the adapter not be switched off.
    private func radio(_ refusal: ManagementStatus = .authenticationFailed) throws -> LinuxRadio {
        kernel.with { $0.adapters[kernel.central]?.refusesToSwitchOff = refusal }
        return try run.radio()
    }

    private func cycle(_ radio: LinuxRadio) async throws -> BLEError? {
        let cycled: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        return cycled.failure
    }

    @Test(arguments: [ManagementStatus.authenticationFailed, .busy])
    func `a power cycle ends where the kernel is stuck, and what that closes later is switched on again`(
        _ refusal: ManagementStatus
    ) async throws {
        let radio = try radio(refusal)
        let facts = try #require(radio.adapter.facts)
        func isLeftOff() -> Bool { radio.leftovers.left(on: facts).contains { $0.thing.kind == .off } }
        for _ in 0..<2 {
            let failure = try await cycle(radio)
            #expect(failure?.code == .timedOut && failure?.cause.contains("driver is stuck") == true)
            // For whoever comes next, should this program be killed.
            #expect(isLeftOff())
        }
        // It is not told again before it has done it.
        #expect(kernel.with { $0.stuckThreads["ble-off"]?.count } == 1)
        let states = FakeRun.Collector<AdapterInfo.State>()
        let watch = radio.observeAdapter { states.add($0.state) }
        await kernel.idle()
        // Another program's command is under way just then.
        kernel.with { $0.adapters[kernel.central]?.answers[0x05] = .busy }
        kernel.unstick("ble-off")
        let isBack = await kernel.run(run.timeline, within: .seconds(10)) { states.all.count == 3 }
        #expect(isBack && states.all == [.poweredOn, .poweredOff, .poweredOn] && !isLeftOff())
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an adapter that counts as off while the kernel is stuck at closing it is on after a reset`()
        async throws
    {
        let radio = try radio()
        #expect(try await cycle(radio)?.code == .timedOut)
        kernel.with { $0.switchOff(kernel.central, by: nil) }
        try await run.result("resetting") { radio.reset(result: $0) }
        #expect(radio.adapterInfo.state == .poweredOn)
        kernel.unstick("ble-off")
        await kernel.idle()
        #expect(radio.adapterInfo.state == .poweredOn)
    }
}
