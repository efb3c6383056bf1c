import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What the kernel says of the links that other programs have, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct AnyLinkTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    @Test(arguments: [true, false], [true, false])
    func `a link of another program is one of the adapter, in either role`(
        _ isCentral: Bool,
        _ isAdministrator: Bool
    ) async throws {
        run.kernel.with { $0.isAdministrator = isAdministrator }
        let radio = try run.radio()
        #expect(!radio.isLinked)
        // A central's link at the other adapter is none of this one.
        run.kernel.with { [number = run.kernel.peripheral] state in
            state.leave(FakeLink(adapter: number, peer: .example, handle: 64, isCentral: isCentral, far: nil))
        }
        #expect(!radio.isLinked)
        run.kernel.with { [number = run.kernel.central] state in
            state.leave(FakeLink(adapter: number, peer: .example, handle: 65, isCentral: isCentral, far: nil))
        }
        #expect(radio.isLinked)
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
