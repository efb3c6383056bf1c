import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A pairing whose command waits its turn behind another one, which the controller takes long for.
@Suite(.timeLimit(.minutes(10))) struct PairingTurnTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private let kernel: KernelDouble

    init() throws { kernel = try KernelDouble() }

    /// A pairing whose command waits for the answer to Start Discovery.
    private func waiting() async throws -> (pairing: Pairing, outcomes: Events<Outcome>) {
        let made = FakeRun.Collector<Pairing>()
        let outcomes = Events<Outcome> { [kernel] yield in
            let pairing = Pairing(
                with: .example,
                in: kernel.pairingSurroundings(),
                asking: .justWorks,
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            )
            made.add(pairing)
            kernel.loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        #expect(await kernel.next()?.opcode == .readInformation)
        kernel.management.submit(ManagementStartDiscovery()) { _ in }
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        try kernel.answer(to: .readInformation, .success, with: information)
        #expect(await kernel.next()?.opcode == .startDiscovery)
        // What follows from the answer is done in the same turn.
        await kernel.loop.turn()
        return (try #require(made.all.first), outcomes)
    }

    private func startDiscovery() throws { try kernel.answer(to: .startDiscovery, .success, with: [6]) }

    /// Waits until all is read that has come, and what was to be done about that is done.
    private func settle() async {
        await withCheckedContinuation { read in kernel.management.whenRead { read.resume() } }
        await kernel.loop.turn()
    }

    @Test func `one that is given up meanwhile never begins`() async throws {
        let (_, outcomes) = try await waiting()
        outcomes.activity.cancel()
        try startDiscovery()
        await settle()
        kernel.management.submit(ManagementReadInformation()) { _ in }
        #expect(await kernel.next()?.opcode == .readInformation)
        #expect(outcomes.count == 0)
    }

    @Test func `one that loses events meanwhile has lost nothing, and begins in its turn`() async throws {
        let (pairing, outcomes) = try await waiting()
        kernel.loop.enqueue { pairing.missedEvents() }
        await settle()
        try startDiscovery()
        #expect(await kernel.next()?.opcode == .pairDevice)
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(try #require(await outcomes.next()).get()?.peer == .example)
    }
}
