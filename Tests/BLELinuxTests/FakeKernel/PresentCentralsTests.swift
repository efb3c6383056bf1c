import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Centrals that are connected when pairings begin to be received, as behind an interruption of a server that keeps its
/// links.
@Suite(.timeLimit(.minutes(10))) struct PresentCentralsTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    /// The bonds that are told of a pairing with a device whose link was made before.
    ///
    /// - Parameter isCentral: whether this machine has connected.
    private func bonds(of pairing: FakePeer.Pairing, isCentral: Bool) async throws -> [BluetoothAddress] {
        let (kernel, number) = (run.kernel, run.kernel.peripheral)
        let radio = try run.radio(number)
        kernel.with { $0.makeLink(of: number, isCentral: isCentral) }
        await kernel.idle()
        let events = FakeRun.Collector<PairingReceptionEvent>()
        let receiving = await run.receive(.accepting, on: radio, events)
        kernel.with { state in
            state.peers[.example]?.pairing = pairing
            state.pair(ManagementAddress(.example), on: number, for: nil)
        }
        await kernel.idle()
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
        return events.bonds
    }

    @Test(arguments: [true, false])
    func `a central that was there before is answered, and its bond is told`(_ isAsked: Bool) async throws {
        let bonds = try await bonds(of: isAsked ? .comparison(123_456) : .justWorks, isCentral: false)
        #expect(bonds == [.example])
    }

    @Test(arguments: [true, false])
    func `what nobody has answered when a reception ends is refused, and the next one is asked`(
        _ isPasskey: Bool
    ) async throws {
        let (kernel, number) = (run.kernel, run.kernel.peripheral)
        let radio = try run.radio(number)
        kernel.with { state in
            state.peers[.example]?.pairing = isPasskey ? .passkey : .comparison(123_456)
            state.makeLink(of: number, isCentral: false)
        }
        await kernel.idle()
        let events = FakeRun.Collector<PairingReceptionEvent>()
        let capability = isPasskey ? PairingCapability.keyboardOnly : .displayYesNo
        let first = await run.receive(PairingInterview(capability) { _, _ in }, on: radio, events)
        kernel.with { $0.pair(ManagementAddress(.example), on: number, for: nil) }
        await kernel.idle()
        first.cancel()
        await kernel.idle()
        let isPairing = kernel.with { $0.adapters[number]?.pairingPeers.isEmpty == false }
        #expect(!isPairing)
        let answering = PairingInterview(capability) { _, reply in reply(isPasskey ? .passkey(123_456) : .accept) }
        let second = await run.receive(answering, on: radio, events)
        kernel.with { $0.pair(ManagementAddress(.example), on: number, for: nil) }
        await kernel.idle()
        #expect(events.bonds == [.example] && events.failures.isEmpty)
        second.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a device that this machine had connected to is no central`() async throws {
        let bonds = try await bonds(of: .justWorks, isCentral: true)
        #expect(bonds.isEmpty)
    }
}
