import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What the kernel is asked of the controller's roles; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct ExcludedRolesTests {
    /// One feature, the one that tells, with its flags.
    private static let both: [UInt8] = [
        1, 0, 0xD6, 0x49, 0xB0, 0xD1, 0x28, 0xEB, 0x27, 0x92, 0x96, 0x46, 0xC0, 0x42, 0xB5, 0x10, 0x1B, 0x67,
        0, 0, 0, 0,
    ]
    private static let none: [UInt8] = [0, 0]
    private static let address = 0x00AA_0101_0001

    private let kernel: KernelDouble
    private let table = TableDouble()
    private let adapter: LinuxAdapter
    private let roles: ExcludedRoles

    init() throws {
        kernel = try KernelDouble()
        table.plug(0, Self.address)
        adapter = try LinuxAdapter("hci0", socket: nil, refusal: .notPermitted, table: table)
        roles = ExcludedRoles(adapter: adapter, management: kernel.management)
    }

    /// Until what the kernel has answered is known.
    private func settle() async throws {
        let heard = Events<Void> { tell in
            kernel.management.observe { _ in tell(()) }
        }
        try kernel.tellThatDiscoveryEnded()
        _ = await heard.next()
    }

    @Test func `the kernel is asked once, and nothing is claimed before it has answered`() async throws {
        #expect(!roles.areKnown && roles.connectObstacle == nil)
        roles.learn()
        roles.learn()
        #expect(!roles.areKnown)
        #expect(try await kernel.answer(with: Self.none)?.opcode == .readExperimentalFeatures)
        try await settle()
        #expect(roles.areKnown)
        roles.learn()
        // Nobody is connected, as far as is known.
        #expect(roles.connectObstacle == nil)
        kernel.management.submit(ManagementStopDiscovery()) { _ in }
        #expect(await kernel.next()?.opcode == .stopDiscovery)
    }

    @Test func `a controller that can be both excludes nothing`() async throws {
        roles.learn()
        _ = try await kernel.answer(with: Self.both)
        try await settle()
        #expect(!roles.areKnown)
    }

    @Test func `of an adapter that was unplugged meanwhile it is asked again`() async throws {
        roles.learn()
        _ = try await kernel.answer(.invalidIndex)
        try await settle()
        roles.learn()
        kernel.management.submit(ManagementStopDiscovery()) { _ in }
        #expect(await kernel.next()?.opcode == .readExperimentalFeatures)
    }

    @Test func `while the adapter is absent the kernel, which would answer about itself, isn't asked`() async throws {
        table.unplug(0)
        #expect(adapter.facts == nil)
        roles.learn()
        kernel.management.submit(ManagementStopDiscovery()) { _ in }
        #expect(await kernel.next()?.opcode == .stopDiscovery)
        table.plug(0, Self.address)
        #expect(adapter.isUp)
        roles.learn()
        #expect(await kernel.next()?.opcode == .readExperimentalFeatures)
    }

    @Test(arguments: [ManagementStatus.unknownCommand, .permissionDenied, .notSupported])
    func `of a kernel that does not tell nothing is claimed, and it is not asked again`(
        _ status: ManagementStatus
    ) async throws {
        roles.learn()
        _ = try await kernel.answer(status)
        try await settle()
        #expect(!roles.areKnown)
        roles.learn()
        kernel.management.submit(ManagementStopDiscovery()) { _ in }
        #expect(await kernel.next()?.opcode == .stopDiscovery)
    }
}
