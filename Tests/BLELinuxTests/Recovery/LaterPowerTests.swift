import BLEProtocol
import BLERadio
import BLEStreams
import Testing

@testable import BLELinux

/// What a program wishes while an earlier command for the same adapter waits for a busy kernel; on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct LaterPowerTests {
    private static let setPowered: UInt16 = 0x05

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
        }
    )

    /// The kernel refuses the next command for the power.
    private func beBusy() {
        let number = run.kernel.central
        run.kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .busy }
    }

    /// Waits, without time going on, until the kernel has refused a command.
    private func refused() async {
        let number = run.kernel.central
        await run.kernel.idle()
        let left = run.kernel.with { $0.adapters[number]?.answers[Self.setPowered] }
        #expect(left == nil, "the kernel was told nothing")
    }

    @Test func `a power cycle that waits to switch on leaves off what another central has switched off`() async throws {
        let (radio, other) = (try run.radio(), try run.radio())
        let (kernel, number) = (run.kernel, run.kernel.central)
        await kernel.idle()
        let watch = radio.observeAdapter { info in
            guard info.state == .poweredOff else { return }
            // That it is switched on again is refused at first.
            kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .busy }
        }
        let cycle = FakeRun.Collector<Result<Void, BLEError>>()
        radio.powerCycle { cycle.add($0) }
        await refused()
        watch.cancel()
        #expect(radio.adapterInfo.state == .poweredOff && cycle.all.isEmpty)
        try await run.result("switching off") { other.setPowered(false, result: $0) }
        let outcome: Result<Void, BLEError> = try await cycle.first("cycling", in: run) { $0 }
        let error = outcome.failure
        #expect(radio.adapterInfo.state == .poweredOff)
        #expect(error?.code == .adapterPoweredOff && error?.cause.contains("Central.setPowered(false)") == true)
        #expect(error?.remedy.contains("Central.reset()") == false)
        // The next program leaves it off, too.
        let facts = try #require(radio.adapter.facts)
        #expect(!radio.leftovers.left(on: facts).contains { $0.thing.kind == .off })
        try await run.result("switching on") { other.setPowered(true, result: $0) }
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `a command to switch on that waits doesn't undo a later one to switch off`() async throws {
        let (radio, other) = (try run.radio(), try run.radio())
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        beBusy()
        let on = FakeRun.Collector<Result<Void, BLEError>>()
        let activity = radio.setPowered(true) { on.add($0) }
        await refused()
        try await run.result("switching off") { other.setPowered(false, result: $0) }
        let outcome: Result<Void, BLEError> = try await on.first("switching on", in: run) { $0 }
        let error = outcome.failure
        #expect(error?.code == .adapterPoweredOff && radio.adapterInfo.state == .poweredOff)
        activity.cancel()
    }

    @Test func `a command to switch off that waits doesn't undo a later one to switch on`() async throws {
        let (radio, other) = (try run.radio(), try run.radio())
        beBusy()
        let off = FakeRun.Collector<Result<Void, BLEError>>()
        let activity = radio.setPowered(false) { off.add($0) }
        await refused()
        try await run.result("switching on") { other.setPowered(true, result: $0) }
        let outcome: Result<Void, BLEError> = try await off.first("switching off", in: run) { $0 }
        let error = outcome.failure
        #expect(error?.code == .busy && radio.adapterInfo.state == .poweredOn)
        activity.cancel()
    }

    @Test func `a power cycle for a controller that doesn't answer that it is switched off leaves it off`() async throws
    {
        let radio = try run.radio()
        let (kernel, number) = (run.kernel, run.kernel.central)
        let cycle = FakeRun.Collector<Result<Void, BLEError>>()
        // As a recovery plan does.
        let symptoms = radio.observeSymptoms { _ in radio.powerCycle { cycle.add($0) } }
        kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .authenticationFailed }
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        let outcome: Result<Void, BLEError> = try await cycle.first("cycling", in: run) { $0 }
        symptoms.cancel()
        let isUp = kernel.with { $0.adapters[number]?.isUp }
        #expect(outcome.failure?.code == .adapterPoweredOff && isUp == false)
        withExtendedLifetime(radio) {}
    }

    @Test func `a recovery takes no further step on what was switched off during its power cycle`() async throws {
        let (radio, other) = (try run.radio(), try run.radio())
        let (kernel, number) = (run.kernel, run.kernel.central)
        let central = try await Central.open(
            .radio(radio),
            recovery: RecoveryPlan(steps: [.powerCycle, .powerCycle])
        )
        let watch = radio.observeAdapter { info in
            guard info.state == .poweredOff else { return }
            kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .busy }
        }
        kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .authenticationFailed }
        let trial = radio.setPowered(true) { _ in }
        await refused()
        watch.cancel()
        #expect(radio.adapterInfo.state == .poweredOff)
        try await run.result("switching off") { other.setPowered(false, result: $0) }
        // Until all timers have fired.
        _ = await kernel.run(run.timeline, within: FakeRun.patience) { false }
        let isUp = kernel.with { $0.adapters[number]?.isUp }
        #expect(isUp == false)
        trial.cancel()
        withExtendedLifetime(central) {}
    }

    @Test func `a reset doesn't undo a command to switch off that waits`() async throws {
        let (radio, other) = (try run.radio(), try run.radio())
        let (kernel, number) = (run.kernel, run.kernel.central)
        kernel.with { $0.plugAllIntoUSB() }
        beBusy()
        let off = FakeRun.Collector<Result<Void, BLEError>>()
        let activity = other.setPowered(false) { off.add($0) }
        await refused()
        try await run.result("resetting") { radio.reset(result: $0) }
        let outcome: Result<Void, BLEError> = try await off.first("switching off", in: run) { $0 }
        let isUp = kernel.with { $0.adapters[number]?.isUp }
        #expect(outcome.failure == nil && isUp == false)
        activity.cancel()
    }
}
