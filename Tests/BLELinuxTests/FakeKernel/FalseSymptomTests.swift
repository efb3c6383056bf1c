import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What a program that was stopped, or is slow, doesn't take for a fault of its adapter, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FalseSymptomTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    private func symptoms(of radio: LinuxRadio) -> (told: FakeRun.Collector<AdapterInfo.Symptom>, RadioActivity) {
        let symptoms = FakeRun.Collector<AdapterInfo.Symptom>()
        return (symptoms, radio.observeSymptoms { symptoms.add($0) })
    }

    @Test func `a discovery whose end was missed is no symptom, and the next one is timed`() async throws {
        let radio = try run.radio()
        let (symptoms, watch) = symptoms(of: radio)
        kernel.with { $0.tell(kernel.central, 0x13, [6, 1]) }
        await kernel.idle()
        kernel.with { state in
            state.unheard { $0.tell(kernel.central, 0x13, [6, 0]) }
            state.tellOfDevice(kernel.central)
        }
        _ = await kernel.run(run.timeline, within: FakeRun.patience) { false }
        #expect(symptoms.all.isEmpty)
        kernel.with { $0.tell(kernel.central, 0x13, [6, 1]) }
        _ = await kernel.run(run.timeline, within: FakeRun.patience) { false }
        #expect(symptoms.all == [.scanWithoutEnd(SymptomWatch.longestDiscovery)])
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a discovery whose end is behind more than one turn reads is no symptom`() async throws {
        let radio = try run.radio()
        let (symptoms, watch) = symptoms(of: radio)
        kernel.with { $0.tell(kernel.central, 0x13, [6, 1]) }
        await kernel.idle()
        let release = await radio.loop.holdUp()
        kernel.with { state in
            for _ in 0...2 * SocketDrain.fairShare * ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
            state.tell(kernel.central, 0x13, [6, 0])
        }
        let isOver = run.timeline.step(until: SymptomWatch.longestDiscovery)
        #expect(isOver && run.timeline.now == SymptomWatch.longestDiscovery)
        release()
        await kernel.idle()
        #expect(symptoms.all.isEmpty)
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a command whose answer is behind as much has an answer`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        let (symptoms, watch) = symptoms(of: radio)
        await kernel.idle()
        let release = await radio.loop.holdUp()
        kernel.with { state in
            for _ in 0...2 * SocketDrain.fairShare * ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
        }
        let outcomes = FakeRun.Collector<ManagementFailure?>()
        management.submit(ManagementStopDiscovery()) { outcomes.add($0.failure) }
        let isOver = run.timeline.step(until: FakeRun.patience)
        #expect(isOver)
        release()
        await kernel.idle()
        let rejected: [ManagementFailure?] = [.status(.rejected, .stopDiscovery)]
        #expect(outcomes.all == rejected)
        #expect(symptoms.all.isEmpty)
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a command whose answer may be among what was missed is no symptom`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        let (symptoms, watch) = symptoms(of: radio)
        await kernel.idle()
        kernel.with { $0.adapters[kernel.central]?.silent = [ManagementOpcode.stopDiscovery.rawValue] }
        for isMissed in [true, false] {
            let outcomes = FakeRun.Collector<ManagementFailure?>()
            management.submit(ManagementStopDiscovery()) { outcomes.add($0.failure) }
            if isMissed {
                kernel.with { state in
                    state.unheard { $0.tellOfDevice(kernel.central) }
                    state.tellOfDevice(kernel.central)
                }
            }
            _ = await kernel.run(run.timeline, within: FakeRun.patience) { !outcomes.all.isEmpty }
            let late: [ManagementFailure?] = [.timedOut(.stopDiscovery)]
            #expect(outcomes.all == late)
            #expect(symptoms.all.isEmpty == isMissed)
        }
        watch.cancel()
        withExtendedLifetime(radio) {}
    }
}
