import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What earlier kernels tell otherwise than Linux 6.12.
@Suite(.timeLimit(.minutes(10))) struct EarlierKernelTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    /// Linux 5.15 has a revision before 22, and 6.1 has that.
    @Test(arguments: [21, 22, 23] as [UInt8], [true, false])
    func `a controller that can't be both is known on each kernel`(
        _ revision: UInt8,
        _ combinesRoles: Bool
    ) async throws {
        let number = kernel.central
        kernel.with { state in
            state.revision = revision
            state.adapters[number]?.combinesRoles = combinesRoles
        }
        let radio = try run.radio()
        // It asks for the roles when it connects for the first time.
        try await run.exchange(radio, with: .example)
        await kernel.idle()
        #expect(radio.excludedRoles.areKnown == !combinesRoles)
        kernel.with { state in
            let central = BluetoothAddress(rawValue: 0xC0DE_0000_00FF, kind: .random)
            state.leave(FakeLink(adapter: number, peer: central, handle: 77, isCentral: false, far: nil))
        }
        #expect((radio.connectObstacle == nil) == combinesRoles)
        withExtendedLifetime(radio) {}
    }
}
