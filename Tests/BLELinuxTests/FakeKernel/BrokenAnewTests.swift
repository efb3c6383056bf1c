import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A link whose keys are being made better ends meanwhile, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct BrokenAnewTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            var peer = FakePeer(address: .example)
            peer.pairing = .comparison(123_456)
            state.peers[.example] = peer
        }
    )

    private var number: UInt16 { run.kernel.central }

    /// The error of a pairing that somebody was asked about when this happened.
    ///
    /// - Parameter meanwhile: what else happens while the error is awaited.
    private func error(
        when body: @Sendable (inout FakeState) -> Void,
        meanwhile: () async -> Void = {}
    ) async throws -> BLEError? {
        let (radio, asked) = (try run.radio(), FakeRun.Collector<PairingQuestion>())
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        let outcomes = FakeRun.Collector<Result<Bond?, BLEError>>()
        let interview = PairingInterview(.displayYesNo) { question, _ in asked.add(question) }
        let raising = end.link.raise(to: .authenticated, asking: interview) { outcomes.add($0) }
        await run.kernel.idle()
        #expect(asked.all.count == 1 && outcomes.all.isEmpty)
        run.kernel.with(body)
        await meanwhile()
        let outcome = try await outcomes.first("raising", in: run) { $0 }
        raising.cancel()
        end.link.disconnect()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
        guard case .failure(let error) = outcome else { return nil }
        return error
    }

    @Test(arguments: [(1, .supervisionTimeout), (3, .closedByPeer)] as [(UInt8, DisconnectReason.Kind)])
    func `the end of the link is told, with its reason, and the adapter isn't blamed`(
        reason: UInt8,
        kind: DisconnectReason.Kind
    ) async throws {
        let number = number
        let error = try await error { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: reason) }
        }
        #expect(error?.code == .disconnected && error?.reason?.kind == kind && error?.isFinal == false)
        #expect(error?.cause.contains("before the pairing did") == true, "\(error as Any)")
        #expect(error?.remedy.contains("powerCycle") == false)
    }

    @Test func `a link that was dropped because a step had taken too long is told as such`() async throws {
        let number = number
        let error = try await error { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: 2) }
        }
        #expect(error?.pairingFailure == .timedOut, "\(error as Any)")
    }

    @Test func `a loss of events behind the end of the link changes nothing`() async throws {
        let number = number
        let began = run.timeline.now
        let error = try await error { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: 2) }
        } meanwhile: {
            await run.kernel.idle()
            await run.kernel.lose(on: number) { $0.tellOfDevice(number) }
        }
        #expect(error?.pairingFailure == .timedOut, "\(error as Any)")
        #expect(run.timeline.now - began < .seconds(1))
    }

    @Test func `an adapter that is switched off is named, not the peripheral`() async throws {
        let number = number
        let error = try await error { $0.switchOff(number, by: nil) }
        #expect(error?.code == .adapterPoweredOff, "\(error as Any)")
    }

    @Test func `an adapter that is reported to be off behind the end of the link is named`() async throws {
        let number = number
        let error = try await error { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: 2) }
        } meanwhile: {
            await run.kernel.idle()
            run.kernel.with { $0.switchOff(number, by: nil) }
        }
        #expect(error?.code == .adapterPoweredOff, "\(error as Any)")
    }
}
