import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// A link that this machine ends while it is being encrypted, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct EndedEncryptionTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            var peer = FakePeer(address: .example)
            // It has its key, and refuses to make another: the encryption with that may still come.
            peer.pairing = .refuses
            state.peers[.example] = peer
        }
    )

    /// The error of the encryption, and the reason of the link's end.
    ///
    /// - Parameter meanwhile: what happens just behind the end.
    private func outcome(
        meanwhile: @Sendable (inout FakeState, _ number: UInt16) -> Void
    ) async throws -> (failure: BLEError, reason: DisconnectReason) {
        let (radio, number) = (try run.radio(), run.kernel.central)
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        run.kernel.with { state in
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(number, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await run.kernel.idle()
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        end.link.encrypt { outcomes.add($0) }
        await run.kernel.idle()
        #expect(outcomes.all.isEmpty)
        run.kernel.with { state in
            guard let link = state.link(of: number, with: .example) else { return }
            state.end(link.socket, error: ECONNABORTED, reason: 2)
        }
        await run.kernel.idle()
        run.kernel.with { meanwhile(&$0, number) }
        let failure = try await outcomes.first("encrypting", in: run) { $0.failure }
        let reason = try await end.end(in: run)
        #expect(outcomes.all.count == 1)
        withExtendedLifetime(radio) {}
        return (failure, reason)
    }

    /// Its links end before the kernel reports that.
    @Test func `an adapter that is switched off says nothing of keys`() async throws {
        let (failure, reason) = try await outcome { $0.switchOff($1, by: nil) }
        #expect(failure.code == .disconnected && failure.reason?.kind == .adapterOff, "\(failure)")
        #expect(!failure.cause.contains("keys") && reason.kind == .adapterOff)
    }

    @Test func `an adapter that stays on has dropped it because of the keys`() async throws {
        let (failure, reason) = try await outcome { _, _ in }
        #expect(failure.code == .securityFailed && failure.cause.contains("keys differ"), "\(failure)")
        #expect(reason.kind == .authenticationFailed)
    }
}
