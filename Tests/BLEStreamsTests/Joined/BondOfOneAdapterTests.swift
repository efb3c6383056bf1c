import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A bonded peripheral, to which only the joined adapter that has the bond may connect.
@Suite(.timeLimit(.minutes(10))) struct BondOfOneAdapterTests {
    @Test func `where that one has no slot left the error says so, and doesn't ask for another bond`() async throws {
        try await JoinedSite.run(sensors: 2, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let (peripherals, far) = (site.peripherals, site.adapters[1])
            for sensor in 0..<2 { site.move(sensor, near: .outOfRange, far: .dBm(-50)) }
            try await peripherals[0].withLink { try await $0.pair() }
            try await peripherals[1].withLink { _ in
                #expect(site.loads == [0, 1])
                let error = await #expect(throws: BLEError.self) { try await peripherals[0].withLink { _ in } }
                #expect(error?.code == .connectionFailed && error?.cause.contains("slot") == true, "\(error as Any)")
                #expect(error?.remedy.contains("unpair") == false, "\(error as Any)")
            }
            try await peripherals[0].withLink { link in
                #expect(link.security.isEncrypted && site.loads == [0, 1])
            }
            far.powerOff()
            let error = await #expect(throws: BLEError.self) { try await peripherals[0].withLink { _ in } }
            #expect(error?.cause.contains("the bond with it belongs to far") == true, "\(error as Any)")
        }
    }
}
