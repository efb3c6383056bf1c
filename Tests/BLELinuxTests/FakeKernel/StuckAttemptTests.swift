import BLEProtocol
import BLERadio
import BLEStreams
import Testing

@testable import BLELinux

/// An attempt to connect that is given up at an unlucky moment: the kernel keeps it, and makes no connection any more.
@Suite(.timeLimit(.minutes(10))) struct StuckAttemptTests {
    private static let other = BluetoothAddress(rawValue: 0xC0_00_00_00_00_0B, kind: .random)

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example, isHere: false)
            state.peers[StuckAttemptTests.other] = FakePeer(address: StuckAttemptTests.other, isHere: false)
            state.keepsGivenUpAttempts = true
        }
    )

    private var kernel: FakeKernel { run.kernel }
    private var attempts: [BluetoothAddress] { kernel.with { $0.attempts(of: kernel.central) } }

    /// Lets this time pass, whether or not anything happens meanwhile.
    private func pass(_ time: Duration) async {
        let end = run.timeline.schedule(after: time) {}
        _ = await kernel.run(run.timeline, within: time) { false }
        withExtendedLifetime(end) {}
    }

    /// Waits for the peer for this time, and gives that up.
    private func connectInVain(_ radio: LinuxRadio, for time: Duration = .zero) async {
        let attempt = radio.connect(to: .example) { _ in }
        await kernel.idle()
        if time > .zero { await pass(time) }
        attempt.cancel()
        await kernel.idle()
    }

    private func peersAppear() async {
        kernel.with { state in
            for peer in [BluetoothAddress.example, Self.other] { state.peers[peer]?.isHere = true }
            state.lookForLinks()
        }
        await kernel.idle()
    }

    /// The kernel cleans up after all.
    private func cleanUp() { kernel.with { $0.adapters[kernel.central]?.keptAttempts = [:] } }

    @Test(arguments: [true, false]) func `an attempt that the kernel keeps is named as the obstacle of all others`(
        _ isAdministrator: Bool
    ) async throws {
        kernel.with { $0.isAdministrator = isAdministrator }
        let radio = try run.radio()
        await connectInVain(radio)
        // It may only be slow.
        await pass(.seconds(2))
        #expect(radio.connectObstacle == nil)
        await pass(StuckAttempts.proof)
        let obstacle = radio.connectObstacle
        #expect(obstacle?.operation == "connect" && obstacle?.object == "from \(kernel.name(kernel.central))")
        #expect(obstacle?.cause.contains("connect to \(BluetoothAddress.example) that was given up") == true)
        #expect(obstacle?.remedy.contains("`Central.powerCycle()`, or let a `RecoveryPlan` do it") == true)
        // That it was asked for is no attempt that stays.
        #expect(attempts == [.example])
        withExtendedLifetime(radio) {}
    }

    @Test func `with the power the obstacle is gone, and peers are connected to`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        await pass(StuckAttempts.proof + .seconds(1))
        await peersAppear()
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = radio.connect(to: Self.other) { outcome.add($0) }
        await pass(.seconds(30))
        #expect(outcome.all.isEmpty && radio.connectObstacle != nil)
        attempt.cancel()
        let cycled: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        try cycled.get()
        #expect(radio.connectObstacle == nil)
        kernel.with { $0.keepsGivenUpAttempts = false }
        await peersAppear()
        try await run.exchange(radio, with: Self.other)
        try await run.exchange(radio, with: .example)
    }

    @Test func `with a recovery plan the adapter is switched off and on by itself`() async throws {
        let radio = try run.radio()
        let central = try await Central.open(
            .radio(radio),
            recovery: RecoveryPlan(steps: [.restartScan, .powerCycle])
        )
        let symptoms = FakeRun.Collector<AdapterInfo.Symptom>()
        let watch = radio.observeSymptoms { symptoms.add($0) }
        let states = FakeRun.Collector<AdapterInfo.State>()
        let power = radio.observeAdapter { states.add($0.state) }
        await connectInVain(radio)
        await pass(.seconds(20))
        #expect(symptoms.all.isEmpty && attempts == [.example])
        await pass(StuckAttempts.proof)
        #expect(symptoms.all == [.keepsAttempt(.example)])
        #expect(states.all.contains(.poweredOff) && radio.adapterInfo.state == .poweredOn)
        #expect(attempts.isEmpty && radio.connectObstacle == nil)
        watch.cancel()
        power.cancel()
        withExtendedLifetime(central) {}
    }

    /// A recovery may have been busy with something else.
    @Test func `it is told again if another attempt is in vain much later`() async throws {
        let radio = try run.radio()
        let symptoms = FakeRun.Collector<AdapterInfo.Symptom>()
        let watch = radio.observeSymptoms { symptoms.add($0) }
        for _ in 0..<3 {
            await connectInVain(radio)
            await pass(.seconds(60))
        }
        #expect(symptoms.all == [.keepsAttempt(.example)])
        await pass(.seconds(600))
        await connectInVain(radio)
        await pass(.seconds(1))
        #expect(symptoms.all == [.keepsAttempt(.example), .keepsAttempt(.example)])
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    /// The program's own attempt is listed, too, and ends in the same way.
    @Test func `who tries the same peer again and again learns of it`() async throws {
        let radio = try run.radio()
        await connectInVain(radio, for: .seconds(30))
        await pass(.seconds(1))
        await connectInVain(radio, for: StuckAttempts.proof)
        #expect(radio.connectObstacle == nil)
        await pass(.seconds(1))
        #expect(radio.connectObstacle != nil)
        withExtendedLifetime(radio) {}
    }

    @Test func `what the kernel no longer lists is no obstacle, even if the peer is awaited again`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        await pass(StuckAttempts.proof + .seconds(1))
        #expect(radio.connectObstacle != nil)
        cleanUp()
        let attempt = radio.connect(to: .example) { _ in }
        await kernel.idle()
        #expect(attempts == [.example] && radio.connectObstacle == nil)
        await pass(.seconds(60))
        #expect(radio.connectObstacle == nil)
        attempt.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `what has ended with the power is no obstacle, even if another program awaits the peer at once`()
        async throws
    {
        let (radio, program) = (try run.radio(), try run.radio())
        await connectInVain(radio)
        await pass(StuckAttempts.proof + .seconds(1))
        #expect(radio.connectObstacle != nil)
        kernel.with { state in
            state.keepsGivenUpAttempts = false
            state.switchOff(kernel.central, by: nil)
            state.adapters[kernel.central]?.settings.insert(.powered)
        }
        await kernel.idle()
        let attempt = program.connect(to: .example) { _ in }
        await kernel.idle()
        #expect(attempts == [.example] && radio.connectObstacle == nil)
        attempt.cancel()
        await kernel.idle()
        withExtendedLifetime((radio, program)) {}
    }

    /// Linux 6.1 doesn't tell that it has cleaned up.
    @Test(arguments: [true, false]) func `an attempt that is given up as usual is no obstacle`(
        _ isTold: Bool
    ) async throws {
        kernel.with { state in
            state.keepsGivenUpAttempts = false
            state.tellsVainAttempts = isTold
        }
        let radio = try run.radio()
        for _ in 0..<3 { await connectInVain(radio, for: .seconds(30)) }
        let calls = kernel.with { $0.calls[.connect] }
        await pass(.seconds(60))
        #expect(radio.connectObstacle == nil && attempts.isEmpty)
        // Nor is the kernel asked by another attempt.
        #expect(calls == 3 && kernel.with { $0.calls[.connect] } == calls)
        withExtendedLifetime(radio) {}
    }

    @Test func `a kernel that cleans up after a second has kept nothing`() async throws {
        let radio = try run.radio()
        for _ in 0..<2 {
            await connectInVain(radio)
            await pass(.seconds(1))
            cleanUp()
            await pass(StuckAttempts.proof)
            #expect(radio.connectObstacle == nil && attempts.isEmpty)
        }
        withExtendedLifetime(radio) {}
    }

    /// bluetoothd has the kernel wait for it without a socket, and gives up after two minutes. What is kept here stands
    /// for that.
    @Test func `a pairing with the same peer, which another program waits for, is no obstacle and no symptom`()
        async throws
    {
        let radio = try run.radio()
        let symptoms = FakeRun.Collector<AdapterInfo.Symptom>()
        let watch = radio.observeSymptoms { symptoms.add($0) }
        await connectInVain(radio)
        await pass(.seconds(120))
        #expect(radio.connectObstacle == nil && attempts == [.example])
        cleanUp()
        await pass(.seconds(60))
        #expect(radio.connectObstacle == nil && symptoms.all.isEmpty)
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    /// The kernel doesn't list the kind.
    @Test func `another program that waits for the other kind of the address is no obstacle`() async throws {
        kernel.with { $0.keepsGivenUpAttempts = false }
        let (radio, program) = (try run.radio(), try run.radio())
        let attempt = program.connect(to: .example) { _ in }
        let other = BluetoothAddress(rawValue: BluetoothAddress.example.rawValue, kind: .public)
        let mistaken = radio.connect(to: other) { _ in }
        await kernel.idle()
        mistaken.cancel()
        await pass(StuckAttempts.proof + .seconds(1))
        #expect(radio.connectObstacle == nil && attempts == [.example])
        attempt.cancel()
        await kernel.idle()
        withExtendedLifetime((radio, program)) {}
    }

    @Test func `another program that waits for the same peer afterwards is no obstacle, and isn't disturbed`()
        async throws
    {
        kernel.with { $0.keepsGivenUpAttempts = false }
        let (radio, program) = (try run.radio(), try run.radio())
        await connectInVain(radio)
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = program.connect(to: .example) { outcome.add($0) }
        await pass(StuckAttempts.proof + .seconds(1))
        #expect(radio.connectObstacle == nil && outcome.all.isEmpty && attempts == [.example])
        attempt.cancel()
        await pass(.seconds(60))
        #expect(radio.connectObstacle == nil && attempts.isEmpty)
        withExtendedLifetime((radio, program)) {}
    }
}
