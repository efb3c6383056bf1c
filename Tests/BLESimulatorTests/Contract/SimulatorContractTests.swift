import BLERadio
import BLESimulator
import RadioContract
import Testing

/// The simulator keeps the contract of all radios, whichever job runs first.
@Suite struct SimulatorContractTests {
    @Test(arguments: RadioClause.all, 1...5)
    func `a simulated adapter keeps the contract`(_ clause: RadioClause, _ seed: UInt64) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let (central, other) = (air.adapter(), air.adapter())
            let peripheral = air.adapter(settings: AdapterSettings(maximumCentrals: 2))
            let stage = RadioStage(
                central: central,
                peripheral: peripheral,
                address: peripheral.address,
                otherCentral: other,
                power: { $0 ? central.powerOn() : central.powerOff() }
            )
            try await clause.check(stage)
        }
    }
}
