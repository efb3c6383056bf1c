import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter that a killed program has left off, and that is away or not ready when the next program opens it; on a
/// kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct LeftOffReturnTests {
    private static let setPowered: UInt16 = 0x05
    private static let setLowEnergy: UInt16 = 0x0D

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
        }
    )

    private var number: UInt16 { run.kernel.central }
    private var leftovers: Leftovers { .ofThisUser(of: run.kernel.kernel) }
    private var isOn: Bool { run.kernel.with { [number] in $0.adapters[number]?.isUp == true } }

    /// The adapter that was on, and is off now.
    private func switchedOff() throws -> AdapterFacts {
        let adapter = try LinuxAdapter(run.kernel.name(number), of: run.kernel.kernel)
        let facts = try #require(adapter.facts)
        run.kernel.with { [number] in $0.switchOff(number, by: nil) }
        return facts
    }

    /// Opens it by its address, under any number.
    private func open(_ facts: AdapterFacts) throws -> LinuxRadio {
        try LinuxRadio(on: LinuxAdapter(at: facts.address, of: run.kernel.kernel), timeline: run.timeline)
    }

    /// Plugs it in; it is off then.
    private func plug(_ facts: AdapterFacts) { run.kernel.with { [number] in Self.plug(facts, number, &$0) } }

    private static func plug(_ facts: AdapterFacts, _ number: UInt16, _ state: inout FakeState) {
        var adapter = FakeAdapter(number: number, address: facts.address)
        adapter.settings.remove(.powered)
        state.adapters[number] = adapter
        state.tell(number, 0x04, [])
    }

    private func isLeftOff(_ facts: AdapterFacts) -> Bool {
        leftovers.left(on: facts).contains { $0.thing.kind == .off }
    }

    @Test func `one that comes back after the next program has opened it is switched on then`() async throws {
        let facts = try switchedOff()
        // The note of a program that was killed while it reset the adapter.
        withExtendedLifetime(leftovers.note(KernelThing(.off, 0, of: facts))) {}
        run.kernel.unplug(number)
        let radio = try open(facts)
        await run.kernel.idle()
        #expect(radio.adapterInfo.state == .absent && isLeftOff(facts))
        plug(facts)
        await run.kernel.idle()
        #expect(isOn && !isLeftOff(facts))
        withExtendedLifetime(radio) {}
    }

    @Test func `one that is still being set up when it is opened is switched on when it is ready`() async throws {
        let facts = try switchedOff()
        withExtendedLifetime(leftovers.note(KernelThing(.off, 0, of: facts))) {}
        run.kernel.with { [number] state in
            for opcode in [Self.setLowEnergy, Self.setPowered] {
                state.adapters[number]?.answers[opcode] = .invalidIndex
            }
        }
        let radio = try open(facts)
        await run.kernel.idle()
        #expect(!isOn && isLeftOff(facts))
        run.kernel.with { [number] in $0.tell(number, 0x04, []) }
        await run.kernel.idle()
        #expect(isOn && !isLeftOff(facts))
        withExtendedLifetime(radio) {}
    }

    @Test func `one that a running program is resetting is left to that program`() async throws {
        let facts = try switchedOff()
        let note = leftovers.note(KernelThing(.off, 0, of: facts))
        run.kernel.unplug(number)
        let radio = try open(facts)
        plug(facts)
        await run.kernel.idle()
        #expect(!isOn)
        withExtendedLifetime((radio, note)) {}
    }

    @Test func `one that nobody has left off stays off when it is plugged in`() async throws {
        let facts = try switchedOff()
        run.kernel.unplug(number)
        let radio = try open(facts)
        plug(facts)
        await run.kernel.idle()
        #expect(!isOn && radio.adapterInfo.state == .poweredOff)
    }

    /// A power cycle whose first command gets no answer, with the adapter that it is for.
    private func cycle(
        _ radio: LinuxRadio
    ) async throws -> (facts: AdapterFacts, outcomes: FakeRun.Collector<Result<Void, BLEError>>) {
        let facts = try #require(radio.adapter.facts)
        run.kernel.with { [number] state in _ = state.adapters[number]?.silent.insert(Self.setPowered) }
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        radio.powerCycle { outcomes.add($0) }
        await run.kernel.idle()
        #expect(outcomes.all.isEmpty)
        return (facts, outcomes)
    }

    @Test func `one that goes away while a power cycle switches it off is switched on when it is back`() async throws {
        let radio = try run.radio()
        let (facts, outcomes) = try await cycle(radio)
        run.kernel.unplug(number)
        await run.kernel.idle()
        #expect(outcomes.all.map(\.failure?.code) == [.adapterNotFound])
        #expect(isLeftOff(facts))
        plug(facts)
        await run.kernel.idle()
        #expect(isOn && !isLeftOff(facts))
        withExtendedLifetime(radio) {}
    }

    @Test func `one that its driver resets while a power cycle switches it off is on at the end`() async throws {
        let radio = try run.radio()
        let (facts, outcomes) = try await cycle(radio)
        let next = number + 1000
        run.kernel.with { [number] state in
            state.unplug(number)
            Self.plug(facts, next, &state)
        }
        await run.kernel.idle()
        #expect(outcomes.all.map(\.failure?.code) == [nil])
        #expect(radio.adapterInfo.state == .poweredOn && radio.adapterName == run.kernel.name(next))
        #expect(!isLeftOff(facts))
        withExtendedLifetime(radio) {}
    }
}
