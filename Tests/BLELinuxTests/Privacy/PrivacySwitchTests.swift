import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// An adapter is off for the moment in which its privacy is set; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct PrivacySwitchTests {
    private static let off: [UInt8] = [0x00, 0x02, 0, 0]
    private static let on: [UInt8] = [0x01, 0x02, 0, 0]

    private let kernel: KernelDouble
    private let plugged: PluggedAdapter

    init() throws {
        kernel = try KernelDouble()
        plugged = try PluggedAdapter()
    }

    private var adapter: LinuxAdapter { plugged.adapter }
    private var facts: AdapterFacts { plugged.facts }

    /// What a program of this machine remembers.
    private var leftovers: Leftovers { plugged.leftovers }

    private var isLeftOff: Bool { leftovers.left(on: facts).contains { $0.thing.kind == .off } }

    /// A program that makes it private, until the moment when it is off.
    private func switchedOff() async throws -> Events<Result<Void, BLEError>> {
        let key = try #require(SecretKey(octets: [UInt8](repeating: 7, count: 16)))
        let privacy = AdapterPrivacy(isOn: true, interrupts: true, keys: [facts.address: key])
        let events = Events<Result<Void, BLEError>> { [kernel, adapter, facts, leftovers] yield in
            let change = PrivacySwitch(
                privacy,
                of: facts,
                kernel.management,
                adapter,
                bluetoothd: .absent,
                leftovers: leftovers,
                loop: kernel.loop,
                timeline: kernel.timeline,
                watch: nil,
                sink: EventSink(yield)
            )
            kernel.loop.enqueue { change.begin() }
            return RadioActivity {}
        }
        let information = KernelDouble.information([.powered], supported: [.powered, .privacy])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        let command = try await kernel.answer(with: Self.off)
        #expect(command == KernelDouble.Command(opcode: .setPowered, parameters: [0]))
        return events
    }

    /// Takes the commands that switch it on, and says that it is.
    private func expectSwitchedOn() async throws {
        #expect(try await kernel.answer(with: Self.off)?.opcode == .setLowEnergy)
        let command = try await kernel.answer(with: Self.on)
        #expect(command == KernelDouble.Command(opcode: .setPowered, parameters: [1]))
    }

    @Test func `while it is off that is noted, and no longer once it is on again`() async throws {
        let events = try await switchedOff()
        #expect(leftovers.held(on: facts).map(\.kind) == [.off])
        #expect(!isLeftOff, "the program that runs answers for it")
        #expect(try await kernel.answer(with: Self.off)?.opcode == .setPrivacy)
        try await expectSwitchedOn()
        try #require(await events.next()).get()
        #expect(leftovers.held(on: facts).isEmpty && !isLeftOff)
    }

    @Test func `a program that was killed meanwhile has the next one switch it on`() async throws {
        // The note of one that is gone.
        withExtendedLifetime(leftovers.note(KernelThing(.off, 0, of: facts))) {}
        #expect(isLeftOff)
        var facts = facts
        facts.flags = 0
        kernel.loop.enqueue { [kernel, facts, leftovers] in
            leftovers.restorePower(of: facts, through: kernel.management) { .absent }
        }
        try await expectSwitchedOn()
        let settled = Events<Void> { [kernel] yield in kernel.management.whenIdle { yield(()) } }
        #expect(await settled.next() != nil && !isLeftOff)
    }

    @Test(arguments: [Bluetoothd.Presence.here, .unknown, .absent])
    func `one that is on by now, or bluetoothd's to switch, is left as it is`(bluetoothd: Bluetoothd.Presence) {
        withExtendedLifetime(leftovers.note(KernelThing(.off, 0, of: facts))) {}
        var facts = facts
        if bluetoothd != .absent { facts.flags = 0 }
        leftovers.restorePower(of: facts, through: kernel.management) { bluetoothd }
        #expect(!isLeftOff)
    }

    @Test func `one that somebody has switched off since stays off`() {
        withExtendedLifetime(leftovers.note(KernelThing(.off, 0, of: facts))) {}
        leftovers.forgetPower(of: facts)
        #expect(!isLeftOff)
    }
}
