import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Why a session's values were interrupted, where the end of the link alone says something else.
@Suite(.timeLimit(.minutes(10))) struct GapReasonTests {
    /// The reason of the gap if the link ends, and a moment later the adapter is switched off for a while.
    private func reason(ofLinkThatEnded kind: DisconnectReason.Kind, before pause: Duration) async throws -> BLEError? {
        let reasons = Recorder<BLEError>()
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                var values = session.notifications(of: Bench.notifying).withGaps().makeAsyncIterator()
                _ = try await values.next()
                bench.air.faults.add(.dropLink(after: .zero, reason: kind))
                _ = try await session.states.first { $0.state.kind == .waitingToReconnect }
                try await bench.time.sleep(for: pause)
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(60))
                bench.centralAdapter.powerOn()
                try await session.ready(timeout: .seconds(30))
                while let item = try await values.next() {
                    guard case .gap(let gap) = item else { continue }
                    if let reason = gap.reason as? BLEError { reasons.add(reason) }
                    break
                }
            }
        }
        return reasons.all.first
    }

    /// Linux ends the links of an adapter before it is off, and lets them look as if the peer had closed them.
    @Test func `a link that its adapter took along was not closed by the peer`() async throws {
        let reason = try await reason(ofLinkThatEnded: .closedByPeer, before: .milliseconds(50))
        #expect(reason?.code == .adapterPoweredOff, "\(reason as Any)")
    }

    @Test func `a link that was lost for another reason keeps it`() async throws {
        let reason = try await reason(ofLinkThatEnded: .supervisionTimeout, before: .milliseconds(50))
        #expect(reason?.code == .disconnected && reason?.reason?.kind == .supervisionTimeout)
    }
}
