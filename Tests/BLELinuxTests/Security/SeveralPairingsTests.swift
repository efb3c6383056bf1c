import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// Pairings with two peers of one adapter at once: the kernel answers in the order in which they end.
@Suite(.timeLimit(.minutes(10))) struct SeveralPairingsTests {
    private static let other = BluetoothAddress(rawValue: 0xC0DE_0000_0002, kind: .random)

    private let kernel: KernelDouble

    init() throws { kernel = try KernelDouble() }

    @Test func `each is told of its own end, whichever ends first`() async throws {
        let surroundings = kernel.pairingSurroundings()
        let slow = try await kernel.begunPairing(with: Self.other, in: surroundings)
        let quick = try await kernel.begunPairing(in: surroundings)
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: ManagementAddress(.example).octets)
        try kernel.answer(to: .pairDevice, .authenticationFailed, with: ManagementAddress(Self.other).octets)
        #expect(try #require(await quick.next()).get()?.peer == .example)
        guard case .failure(let error)? = await slow.next() else {
            Issue.record("it was told of another one's end")
            return
        }
        #expect(error.pairingFailure == .refusedByPeripheral && error.object.contains("\(Self.other)"), "\(error)")
    }
}
