import BLEProtocol
import BLERadio
import RadioDoubles
import Testing

@testable import BLELinux

/// What is seen by the kernel's word that an adapter doesn't do its work.
@Suite(.timeLimit(.minutes(10))) struct SymptomWatchTests {

    private let kernel: KernelDouble
    private let watch: SymptomWatch

    init() throws {
        kernel = try KernelDouble()
        watch = SymptomWatch(management: kernel.management, timeline: kernel.timeline)
    }

    /// Until the watch has taken what the kernel told last: it hears of it before this observer does.
    private func tell(discovering isOn: Bool) async throws {
        let heard = Events<Bool> { tell in
            kernel.management.observe { events in
                for case .discovering(_, let isOn) in events.map(\.event) { tell(isOn) }
            }
        }
        try kernel.tell(0x13, [6, isOn ? 1 : 0])
        #expect(await heard.next() == isOn)
    }

    @Test func `a discovery that goes on for a minute is a symptom`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        try await tell(discovering: true)
        #expect(kernel.timeline.delays == [.seconds(60)])
        kernel.timeline.fire(.seconds(60))
        #expect(await symptoms.next() == .scanWithoutEnd(.seconds(60)))
    }

    @Test func `a discovery that ends is none, and the next one is timed anew`() async throws {
        try await tell(discovering: true)
        try await tell(discovering: false)
        #expect(kernel.timeline.delays.isEmpty)
        try await tell(discovering: true)
        try await tell(discovering: true)
        // One timer, whatever came before.
        #expect(kernel.timeline.delays == [.seconds(60)])
    }

    @Test func `a discovery whose end waits to be read when its time is over is none`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        try await tell(discovering: true)
        let release = await kernel.loop.holdUp()
        try kernel.tell(0x13, [6, 0])
        kernel.timeline.fire(.seconds(60))
        release()
        await kernel.loop.turn()
        await kernel.loop.turn()
        #expect(symptoms.count == 0)
    }

    @Test func `one that has begun since is timed by itself`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        try await tell(discovering: true)
        let release = await kernel.loop.holdUp()
        try kernel.tell(0x13, [6, 0])
        try kernel.tell(0x13, [6, 1])
        kernel.timeline.fire(.seconds(60))
        release()
        await kernel.loop.turn()
        await kernel.loop.turn()
        #expect(symptoms.count == 0)
        #expect(kernel.timeline.delays == [.seconds(60)])
        kernel.timeline.fire(.seconds(60))
        #expect(await symptoms.next() == .scanWithoutEnd(.seconds(60)))
    }

    @Test func `a discovery during which the machine was asleep is timed anew`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        try await tell(discovering: true)
        kernel.timeline.pass(.seconds(3600))
        kernel.timeline.fire(.seconds(60))
        await kernel.loop.turn()
        await kernel.loop.turn()
        #expect(symptoms.count == 0 && kernel.timeline.delays == [.seconds(60)])
        kernel.timeline.pass(.seconds(60))
        kernel.timeline.fire(.seconds(60))
        #expect(await symptoms.next() == .scanWithoutEnd(.seconds(60)))
    }

    @Test func `a command during which the machine was asleep still gets its answer, and is no symptom`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        let outcomes = Events<ManagementFailure?> { [kernel] tell in
            kernel.management.submit(ManagementStopDiscovery()) { tell($0.failure) }
            return RadioActivity {}
        }
        #expect(await kernel.next()?.opcode == .stopDiscovery)
        kernel.timeline.pass(.seconds(3600))
        kernel.timeline.fire(.seconds(30))
        await kernel.loop.turn()
        await kernel.loop.turn()
        #expect(symptoms.count == 0 && outcomes.count == 0)
        // The kernel is asleep no more, and still says nothing.
        kernel.timeline.pass(.seconds(30))
        kernel.timeline.fire(.seconds(30))
        let late: ManagementFailure? = .timedOut(.stopDiscovery)
        #expect(await outcomes.next() == late)
        #expect(await symptoms.next() == .unanswered("Stop Discovery"))
    }

    @Test func `a command without an answer of the controller is a symptom, and a refused one is none`() async throws {
        let symptoms = Events<AdapterInfo.Symptom> { watch.observe($0) }
        kernel.management.submit(ManagementStopDiscovery()) { _ in }
        _ = try await kernel.answer(.busy)
        kernel.management.submit(ManagementStartDiscovery()) { _ in }
        // What the kernel makes of a controller's silence.
        _ = try await kernel.answer(.authenticationFailed)
        #expect(await symptoms.next() == .unanswered("Start Discovery"))
    }
}
