import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Centrals that are connected when pairings begin to be received, as behind an interruption of a server that keeps its
/// links.
@Suite(.timeLimit(.minutes(10))) struct PresentCentralsTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    /// What is told of a pairing with a device whose link was made before.
    ///
    /// - Parameter isCentral: whether this machine has connected.
    private func events(of pairing: FakePeer.Pairing, isCentral: Bool) async throws -> [PairingReceptionEvent] {
        let (kernel, number) = (run.kernel, run.kernel.peripheral)
        let radio = try run.radio(number)
        kernel.with { state in
            let link = FakeLink(adapter: number, peer: .example, handle: 64, isCentral: isCentral, far: nil)
            state.leave(link)
            state.tellConnected(link)
        }
        await kernel.idle()
        let events = FakeRun.Collector<PairingReceptionEvent>()
        let interview = PairingInterview(.displayYesNo) { _, reply in reply(.accept) }
        let receiving = radio.receivePairings(PairingReception(interview.capability) { _ in interview }) {
            events.add($0)
        }
        await kernel.idle()
        kernel.with { state in
            state.peers[.example]?.pairing = pairing
            state.pair(ManagementAddress(.example), on: number, for: nil)
        }
        await kernel.idle()
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
        return events.all
    }

    private func bonds(_ events: [PairingReceptionEvent]) -> [BluetoothAddress] {
        events.compactMap { if case .paired(.example, let bond?) = $0 { bond.peer } else { nil } }
    }

    @Test(arguments: [true, false])
    func `a central that was there before is answered, and its bond is told`(_ isAsked: Bool) async throws {
        let events = try await events(of: isAsked ? .comparison(123_456) : .justWorks, isCentral: false)
        #expect(bonds(events) == [.example])
    }

    @Test func `a device that this machine had connected to is no central`() async throws {
        let events = try await events(of: .justWorks, isCentral: true)
        #expect(bonds(events).isEmpty)
    }
}
