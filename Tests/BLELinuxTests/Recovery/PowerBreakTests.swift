import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// An adapter that is off for a moment is to be on again, though the program is killed; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct PowerBreakTests {
    private static let off: [UInt8] = [0x00, 0x02, 0, 0]
    private static let on: [UInt8] = [0x01, 0x02, 0, 0]

    private let kernel: KernelDouble
    private let adapter: LinuxAdapter
    private let facts: AdapterFacts
    private let leftovers: Leftovers

    init() throws {
        kernel = try KernelDouble()
        let plugged = try PluggedAdapter()
        (adapter, facts, leftovers) = (plugged.adapter, plugged.facts, plugged.leftovers)
    }

    private var isLeftOff: Bool { leftovers.left(on: facts).contains { $0.thing.kind == .off } }

    /// A program that switches it off and on, until the moment when it is off.
    private func begin() async throws -> Events<Result<Void, BLEError>> {
        let pause = PowerBreak(
            facts: facts,
            management: kernel.management,
            adapter: adapter,
            leftovers: leftovers,
            loop: kernel.loop,
            timeline: kernel.timeline,
            watch: nil
        )
        let events = Events<Result<Void, BLEError>> { [kernel] yield in
            kernel.loop.enqueue { pause.begin(doing: { $0(.success(())) }, { yield($0) }) }
            return RadioActivity {}
        }
        let command = try await kernel.answer(with: Self.off)
        #expect(command == KernelDouble.Command(opcode: .setPowered, parameters: [0]))
        return events
    }

    @Test func `it is noted while it is off, and no longer once it is on`() async throws {
        let events = try await begin()
        #expect(try await kernel.answer(with: Self.off)?.opcode == .setLowEnergy)
        #expect(leftovers.held(on: facts).map(\.kind) == [.off])
        #expect(try await kernel.answer(with: Self.on)?.opcode == .setPowered)
        guard case .success? = await events.next() else {
            Issue.record("it was switched on")
            return
        }
        #expect(leftovers.held(on: facts).isEmpty && !isLeftOff)
    }

    @Test func `one that could not be switched on stays noted for the next program`() async throws {
        let events = try await begin()
        #expect(try await kernel.answer(with: Self.off)?.opcode == .setLowEnergy)
        #expect(try await kernel.answer(.blockedByRFKill)?.opcode == .setPowered)
        guard case .failure? = await events.next() else {
            Issue.record("it can't have been switched on")
            return
        }
        #expect(isLeftOff)
    }
}
