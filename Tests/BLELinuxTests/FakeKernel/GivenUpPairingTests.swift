import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A pairing that this program has begun and given up, on a kernel in memory: the kernel tells of its failure as of one
/// that the peer has requested.
@Suite(.timeLimit(.minutes(10))) struct GivenUpPairingTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            var peer = FakePeer(address: .example)
            peer.pairing = .comparison(123_456)
            state.peers[.example] = peer
        }
    )

    @Test func `a link doesn't say that its peer has requested what this side has given up`() async throws {
        let (radio, asked) = (try run.radio(), FakeRun.Collector<PairingQuestion>())
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        let interview = PairingInterview(.displayYesNo) { question, _ in asked.add(question) }
        let raising = end.link.raise(to: .authenticated, asking: interview) { _ in }
        await run.kernel.idle()
        #expect(asked.all.count == 1)
        raising.cancel()
        await run.kernel.idle()
        #expect(end.failures.all.isEmpty, "\(end.failures.all)")
        // What the peer itself requests later is another matter.
        run.kernel.with { $0.tell(run.kernel.central, 0x11, ManagementAddress(.example).octets + [5]) }
        await run.kernel.idle()
        #expect(end.failures.all.count == 1)
        end.link.disconnect()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
