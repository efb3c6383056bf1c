import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A bond that belongs to a joined adapter which doesn't come back.
@Suite(.timeLimit(.minutes(10))) struct LostHolderTests {
    @Test func `the bond is removed as the error says, and made again through another adapter`() async throws {
        try await JoinedSite.run { site in
            let peripheral = site.peripherals[0]
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
