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

    /// Takes the failures that a link tells of what its peer has requested.
    private final class Taker: ATTLinkReceiver {
        let failures = FakeRun.Collector<BLEError>()

        func linkReceived(_ pdus: consuming ReceivedPDUs) {}
        func linkDropped(_ count: Int) {}
        func linkBecameWritable() {}
        func linkEncryptionFailed(_ error: BLEError) { failures.add(error) }
        func linkEnded(_ reason: DisconnectReason) {}
    }

    @Test func `a link doesn't say that its peer has requested what this side has given up`() async throws {
        let (radio, taker, asked) = (try run.radio(), Taker(), FakeRun.Collector<PairingQuestion>())
        let link = try await run.connect(radio, to: .example)
        link.start(taker)
        await run.kernel.idle()
        let interview = PairingInterview(.displayYesNo) { question, _ in asked.add(question) }
        let raising = link.raise(to: .authenticated, asking: interview) { _ in }
        await run.kernel.idle()
        #expect(asked.all.count == 1)
        raising.cancel()
        await run.kernel.idle()
        #expect(taker.failures.all.isEmpty, "\(taker.failures.all)")
        // What the peer itself requests later is another matter.
        run.kernel.with { $0.tell(run.kernel.central, 0x11, ManagementAddress(.example).octets + [5]) }
        await run.kernel.idle()
        #expect(taker.failures.all.count == 1)
        link.disconnect()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
