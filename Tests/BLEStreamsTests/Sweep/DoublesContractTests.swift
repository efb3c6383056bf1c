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

    @Test(arguments: RadioClause.all(for: [.scanning, .linking, .power]))
    func `an adapter whose steps are counted keeps it`(_ clause: RadioClause) async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (adapter, peripheral) = (air.adapter(), air.adapter())
            let stage = RadioStage(
                central: SteppingRadio(adapter, StepCounter(targets: [])),
                peripheral: PuppetRadio(peripheral),
                address: peripheral.address,
                power: { isOn in isOn ? adapter.powerOn() : adapter.powerOff() }
            )
            try await clause.check(stage)
        }
    }
}
