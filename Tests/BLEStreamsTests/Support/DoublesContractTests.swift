import BLERadio
import BLESimulator
import RadioContract
import Testing

/// What stands in for a radio in these tests keeps the contract.
@Suite struct DoublesContractTests {
    @Test(arguments: RadioClause.all(for: [.scanning, .linking]))
    func `an adapter with a puppeteer keeps it`(_ clause: RadioClause) async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let peripheral = air.adapter()
            let (central, puppet) = (PuppetRadio(air.adapter()), PuppetRadio(peripheral))
            try await clause.check(RadioStage(central: central, peripheral: puppet, address: peripheral.address))
        }
    }
}
