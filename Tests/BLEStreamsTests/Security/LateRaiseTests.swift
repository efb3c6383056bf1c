import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// A link that ends while its pairing still waits for what it needs: the stored bonds, and the adapter that gets them.
@Suite(.timeLimit(.minutes(10))) struct LateRaiseTests {
    /// Takes a while for the bonds. Asked to pair with a peer without a link, Linux makes another one.
    private struct SlowRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let isRestoring = Flag()
        let hasPaired = Flag()

        func restore(
            _ bonds: [Bond],
            result: @escaping @Sendable (Result<Void, BLEError>) -> Void
        ) -> RadioActivity {
            isRestoring.set()
            return timeline.schedule(after: .seconds(10)) { result(.success(())) }
        }

        func pair(
            with peer: BluetoothAddress,
            asking interview: PairingInterview,
            result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
        ) -> RadioActivity {
            hasPaired.set()
            return radio.pair(with: peer, asking: interview, result: result)
        }
    }

    @Test func `nothing is paired for a link that has ended by then, and its end is told`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let radio = SlowRadio(radio: bench.centralAdapter)
            let vault = try await Central.open(.radio(radio)).peripheral(bench.peripheralAdapter.address)
            try? await vault.withLink { link in
                bench.air.faults.add(.dropLink(after: .seconds(5)))
                let error = await bleError { try await link.pair() }
                #expect(error?.code == .disconnected && error?.isFinal == false, "\(error as Any)")
                #expect(error?.reason?.kind == .supervisionTimeout)
            }
            #expect(radio.isRestoring.isSet && !radio.hasPaired.isSet)
        }
    }

    @Test func `an adapter that is switched off by then is what the remedy is about`() async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let radio = SlowRadio(radio: bench.centralAdapter)
            let vault = try await Central.open(.radio(radio)).peripheral(bench.peripheralAdapter.address)
            try? await vault.withLink { link in
                let timer = radio.timeline.schedule(after: .seconds(5)) { [adapter = bench.centralAdapter] in
                    adapter.powerOff()
                }
                let error = await bleError { try await link.pair() }
                timer.cancel()
                #expect(error?.reason?.kind == .adapterOff && error?.isFinal == false, "\(error as Any)")
                #expect(error?.remedy.contains("adapter") == true && error?.remedy.contains("near") == false)
            }
            #expect(radio.isRestoring.isSet && !radio.hasPaired.isSet)
        }
    }
}
