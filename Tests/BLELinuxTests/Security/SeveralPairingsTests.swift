import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// Pairings with two peers of one adapter at once: the kernel answers in the order in which they end.
@Suite(.timeLimit(.minutes(10))) struct SeveralPairingsTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private static let other = BluetoothAddress(rawValue: 0xC0DE_0000_0002, kind: .random)

    private let kernel: KernelDouble
    private let surroundings: PairingSurroundings

    init() throws {
        kernel = try KernelDouble()
        surroundings = kernel.pairingSurroundings()
    }

    /// A pairing that the kernel has begun.
    private func pairing(with peer: BluetoothAddress) async throws -> Events<Outcome> {
        let events = Events<Outcome> { [kernel, surroundings] yield in
            let pairing = Pairing(
                with: peer,
                in: surroundings,
                asking: .justWorks,
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            )
            kernel.loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        #expect(await kernel.next()?.opcode == .pairDevice)
        return events
    }

    private static func octets(_ peer: BluetoothAddress) -> [UInt8] {
        var writer = ByteWriter()
        writer.managementAddress(ManagementAddress(peer))
        return writer.bytes
    }

    @Test func `each is told of its own end, whichever ends first`() async throws {
        let slow = try await pairing(with: Self.other)
        let quick = try await pairing(with: .example)
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: Self.octets(.example))
        try kernel.answer(to: .pairDevice, .authenticationFailed, with: Self.octets(Self.other))
        #expect(try #require(await quick.next()).get()?.peer == .example)
        guard case .failure(let error)? = await slow.next() else {
            Issue.record("it was told of another one's end")
            return
        }
        #expect(error.pairingFailure == .refusedByPeripheral && error.object.contains("\(Self.other)"), "\(error)")
    }
}
