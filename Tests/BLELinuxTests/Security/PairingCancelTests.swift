import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A program gives up a pairing that it has begun, at the moments that matter: the kernel may be further than the
/// program has heard.
@Suite(.timeLimit(.minutes(10))) struct PairingCancelTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private let kernel: KernelDouble
    private let keys: KernelKeys

    init() throws {
        kernel = try KernelDouble()
        keys = KernelKeys(management: kernel.management)
    }

    private static let error: @Sendable (ManagementFailure) -> BLEError = {
        BLEError(.systemFailure, operation: "test", cause: "\($0)")
    }

    private func prepare() async throws {
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
    }

    /// A pairing that the kernel has begun.
    private func pairing() async throws -> Events<Outcome> {
        try await kernel.begunPairing(in: kernel.pairingSurroundings(keys: keys))
    }

    /// A pairing for better keys that the kernel has begun.
    private func pairingAnew() async throws -> Events<Outcome> {
        let (demands, demanded) = AsyncStream<Void>.makeStream()
        let events = Events<Outcome> { [kernel, keys] yield in
            let pairing = PairingAnew(
                with: .example,
                in: kernel.pairingSurroundings(keys: keys),
                asking: .justWorks,
                failure: Self.error,
                sink: EventSink(yield)
            ) { demanded.yield() }
            kernel.loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        try await prepare()
        for await _ in demands { break }
        return events
    }

    /// What the kernel hears next, be it only what a test asks.
    private func nextCommand() async -> ManagementOpcode? {
        kernel.loop.enqueue { [kernel] in kernel.management.submit(ManagementReadInformation()) { _ in } }
        return await kernel.next()?.opcode
    }

    @Test func `keys that were made before the kernel heard of it are forgotten`() async throws {
        let pairing = try await pairing()
        pairing.activity.cancel()
        let settled = Events<Void> { [kernel] yield in kernel.management.whenIdle { yield(()) } }
        #expect(await kernel.next()?.opcode == .cancelPairDevice)
        // All of this was on its way.
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: [UInt8](repeating: 0, count: 7))
        try kernel.answer(to: .cancelPairDevice, .invalidParameters, with: [UInt8](repeating: 0, count: 7))
        #expect(await kernel.next()?.opcode == .unpairDevice)
        #expect(pairing.count == 0 && settled.count == 0)
        // A program that ended before would have left them behind.
        try kernel.answer(to: .unpairDevice, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(await settled.next() != nil)
    }

    @Test func `keys that were heard of are forgotten`() async throws {
        let pairing = try await pairing()
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(try #require(await pairing.next()).get()?.peer == .example)
        pairing.activity.cancel()
        #expect(await nextCommand() == .readInformation, "it was over: the keys are the program's")
    }

    @Test func `keys of a bond that was there stay`() async throws {
        let pairing = try await pairing()
        pairing.activity.cancel()
        #expect(await kernel.next()?.opcode == .cancelPairDevice)
        try kernel.answer(to: .pairDevice, .alreadyPaired, with: [UInt8](repeating: 0, count: 7))
        try kernel.answer(to: .cancelPairDevice, .invalidParameters, with: [UInt8](repeating: 0, count: 7))
        #expect(await nextCommand() == .readInformation)
        #expect(pairing.count == 0)
    }

    @Test func `better keys that were made before the kernel heard of it are kept`() async throws {
        let pairing = try await pairingAnew()
        pairing.activity.cancel()
        #expect(await kernel.next()?.opcode == .disconnect)
        try kernel.tellKey(kind: 2)
        try kernel.tellOfPeer(0x0C, [2])
        try kernel.answer(to: .disconnect, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(try #require(await pairing.next()).get()?.peer == .example)
    }

    @Test func `one for better keys that is given up tells nothing`() async throws {
        let pairing = try await pairingAnew()
        pairing.activity.cancel()
        #expect(await kernel.next()?.opcode == .disconnect)
        try kernel.tellOfPeer(0x0C, [2])
        try kernel.answer(to: .disconnect, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(await nextCommand() == .readInformation)
        #expect(pairing.count == 0)
    }

    /// The kernel sends the event of a link's end to all but the program that has requested it.
    @Test func `the former key is in doubt once one for better keys is given up, also if no event tells its end`()
        async throws
    {
        let key = Bond.EncryptionKey(
            kind: 2,
            initiator: 0,
            size: 16,
            diversifier: 0,
            random: 0,
            value: try #require(SecretKey(octets: Array(1...16)))
        )
        let bond = Bond(peer: .example, adapter: KernelDouble.adapter.address, encryptionKeys: [key])
        keys.load([bond], on: "hci0", current: KernelKeyList([bond]), bluetoothd: .absent) { _ in }
        #expect(keys.level(of: .example) == .encrypted)
        let pairing = try await pairingAnew()
        pairing.activity.cancel()
        #expect(await kernel.next()?.opcode == .disconnect)
        let settled = Events<Void> { [kernel] yield in kernel.management.whenIdle { yield(()) } }
        try kernel.answer(to: .disconnect, .success, with: [UInt8](repeating: 0, count: 7))
        #expect(await settled.next() != nil)
        #expect(pairing.count == 0 && keys.level(of: .example) == nil)
    }
}
