import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Switching an adapter on; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct PowerSwitchTests {
    private static let off: [UInt8] = [0x00, 0x02, 0, 0]
    private static let on: [UInt8] = [0x01, 0x02, 0, 0]

    private let kernel: KernelDouble
    private let table = TableDouble()

    init() throws {
        kernel = try KernelDouble()
        table.plug(0, 0x00AA_0101_0001)
    }

    /// Switches it on, with a kernel that answers Set Powered with these settings, one after the other.
    private func switchOn(answers: [[UInt8]]) async throws -> Result<Void, BLEError> {
        let (outcomes, outcome) = AsyncStream<Result<Void, BLEError>>.makeStream()
        let adapter = try LinuxAdapter("hci0", socket: nil, refusal: nil, table: table)
        kernel.loop.enqueue { [kernel] in
            PowerSwitch(
                true,
                kernel.management,
                adapter,
                loop: kernel.loop,
                timeline: kernel.timeline,
                sink: EventSink { outcome.yield($0) }
            ).begin()
        }
        #expect(try await kernel.answer(with: Self.off)?.opcode == .setLowEnergy)
        for answer in answers {
            let command = try await kernel.answer(with: answer)
            #expect(command == KernelDouble.Command(opcode: .setPowered, parameters: [1]))
        }
        var iterator = outcomes.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    @Test func `an adapter that is off though the kernel has said that it is done is switched on again`() async throws {
        try await switchOn(answers: [Self.off, Self.on]).get()
    }

    @Test func `one that stays off is told, with what to do`() async throws {
        let outcome = try await switchOn(answers: [Self.off, Self.off, Self.off])
        guard case .failure(let error) = outcome else { return #expect(Bool(false), "it is not on") }
        #expect(error.operation == "switch on" && !error.remedy.isEmpty)
    }
}
