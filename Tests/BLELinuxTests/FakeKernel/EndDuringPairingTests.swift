import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// A link ends while the kernel pairs, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct EndDuringPairingTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            var peer = FakePeer(address: .example)
            peer.pairing = .comparison(123_456)
            state.peers[.example] = peer
        }
    )

    @Test(arguments: [(1, .supervisionTimeout), (3, .closedByPeer)] as [(UInt8, DisconnectReason.Kind)])
    func `a link that ends while a person is asked takes its pairing along, and the next one pairs`(
        told: (reason: UInt8, kind: DisconnectReason.Kind)
    ) async throws {
        let (number, radio) = (run.kernel.central, try run.radio())
        radio.expectPairing(with: .example, as: .displayYesNo)
        let asked = FakeRun.Collector<PairingInterview.Reply>()
        let interview = PairingInterview(.displayYesNo) { asked.add($1) }
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        let outcomes = FakeRun.Collector<Result<Bond?, BLEError>>()
        let pairing = radio.pair(with: .example, asking: interview) { outcomes.add($0) }
        await run.kernel.idle()
        #expect(asked.all.count == 1)
        run.kernel.with { state in
            guard let link = state.link(of: number, with: .example) else { return }
            state.end(link.socket, error: ECONNRESET, reason: told.reason)
        }
        let outcome = try await outcomes.first("pairing", in: run) { $0 }
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.code == .disconnected && error.reason?.kind == told.kind && !error.isFinal, "\(error)")
        // Nobody has to cancel it.
        #expect(run.kernel.with { $0.adapters[number]?.pairing == nil })
        let next = FakeRun.End(try await run.connect(radio, to: .example))
        let bond: Bond? = try await run.result("pairing") { result in
            let accepting = PairingInterview(.displayYesNo) { $1(.accept) }
            return radio.pair(with: .example, asking: accepting, result: result)
        }
        #expect(bond?.peer == .example)
        next.link.disconnect()
        _ = try await next.end(in: run)
        pairing.cancel()
        withExtendedLifetime((radio, end)) {}
    }
}
