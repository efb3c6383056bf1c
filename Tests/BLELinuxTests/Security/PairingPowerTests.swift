import BLEProtocol
import BLERadio
import RadioContract
import Synchronization
import Testing

@testable import BLELinux

/// A pairing whose adapter is switched off: the kernel ends the link and the pairing before it reports that.
@Suite(.timeLimit(.minutes(10))) struct PairingPowerTests {
    private typealias Outcome = Result<Bond?, BLEError>

    /// The flags of the adapter, which says whether it is up.
    private final class Adapter: Sendable {
        private let isUp = Mutex(true)

        var facts: AdapterFacts? {
            var facts = KernelDouble.adapter
            facts.flags = isUp.withLock { $0 } ? 1 : 0
            return facts
        }

        func goDown() { isUp.withLock { $0 = false } }
    }

    private let kernel: KernelDouble
    private let adapter = Adapter()

    init() throws { kernel = try KernelDouble() }

    /// A pairing that the kernel has begun.
    private func pairing() async throws -> Events<Outcome> {
        try await kernel.begunPairing(in: kernel.pairingSurroundings { [adapter] in adapter.facts })
    }

    private static let information = KernelDouble.information([.powered, .bondable, .secureConnections])

    /// Waits until all that the kernel has told is processed.
    private func settle() async throws {
        let answered = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        #expect(try await kernel.answer(with: Self.information)?.opcode == .readInformation)
        _ = await answered.next()
    }

    /// The error after the kernel has ended the pairing, and has had its time to report more.
    private func error(
        of pairing: Events<Outcome>,
        _ status: ManagementStatus,
        meanwhile: () throws -> Void = {}
    ) async throws -> BLEError? {
        try kernel.answer(to: .pairDevice, status, with: [UInt8](repeating: 0, count: 7))
        try await settle()
        try meanwhile()
        try await settle()
        kernel.timeline.fire(Pairing.powerReport)
        guard case .failure(let error)? = await pairing.next() else { return nil }
        return error
    }

    @Test(arguments: [ManagementStatus.failed, .disconnected, .authenticationFailed], [true, false])
    func `the adapter is named, not the peripheral`(_ status: ManagementStatus, _ isToldOfLink: Bool) async throws {
        let pairing = try await pairing()
        if isToldOfLink { try kernel.tellOfPeer(0x0C, [2]) }
        guard isToldOfLink || status != .authenticationFailed else { return }
        let error = try await error(of: pairing, status) { adapter.goDown() }
        #expect(error?.cause.contains("\(ManagementStatus.notPowered)") == true, "\(error as Any)")
    }

    @Test func `the adapter stays on where a step has taken too long`() async throws {
        let pairing = try await pairing()
        try kernel.tellOfPeer(0x0C, [2])
        let error = try await error(of: pairing, .disconnected)
        #expect(error?.pairingFailure == .timedOut)
    }

    @Test func `a link that is reported behind the failure explains it`() async throws {
        let pairing = try await pairing()
        let error = try await error(of: pairing, .failed) { try kernel.tellOfPeer(0x0C, [3]) }
        #expect(error?.code == .disconnected && error?.reason?.kind == .closedByPeer)
    }
}
