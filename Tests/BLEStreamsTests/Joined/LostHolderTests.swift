import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

/// A bond that belongs to a joined adapter which doesn't come back.
@Suite(.timeLimit(.minutes(10))) struct LostHolderTests {
    /// Removes no key while it can't be used, as a kernel.
    private struct KernelLikeRadio: RelayingRadio {
        let radio: SimulatedAdapter

        func unpair(
            _ peer: BluetoothAddress,
            result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
        ) -> RadioActivity {
            guard let error = radio.state.error(operation: "unpair", object: "from \(peer)") else {
                return radio.unpair(peer, result: result)
            }
            return radio.timeline.schedule(after: .zero) { result(.failure(error)) }
        }
    }

    @Test func `the bond is removed as the error says, and made again through another adapter`() async throws {
        try await JoinedSite.run { site in
            let choice = AdapterChoice.joined(site.adapters.map { .radio(KernelLikeRadio(radio: $0)) })
            let peripheral = try await Central.open(choice).peripheral(site.sensors[0].address)
            site.move(0, near: .outOfRange, far: .dBm(-50))
            try await peripheral.withLink { try await $0.pair() }
            site.move(0, near: .dBm(-50), far: .outOfRange)
            site.adapters[1].powerOff()
            // The kernel has the key, and would use it when the adapter is on again.
            let refusal = await bleError { try await peripheral.unpair() }
            #expect(refusal?.code == .adapterPoweredOff && peripheral.isBonded)
            let error = await bleError { try await peripheral.withLink { _ in } }
            #expect(error?.remedy.contains("unplug it and pair again") == true, "\(error as Any)")
            site.adapters[1].unplug()
            try await peripheral.unpair()
            #expect(!peripheral.isBonded)
            try await peripheral.withLink { link in
                try await link.pair()
                #expect(link.security.isEncrypted && site.loads == [1, 0])
            }
            #expect(peripheral.bond?.adapter == site.adapters[0].address)
        }
    }
}
