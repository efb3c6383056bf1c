import BLERadio
import BLESimulator
import RadioContract
import Testing

@testable import BLEStreams

/// Adapters that are joined keep the contract of one.
@Suite(.timeLimit(.minutes(10))) struct JoinedContractTests {
    @Test(arguments: RadioClause.all, 1...3)
    func `two joined adapters keep the contract`(_ clause: RadioClause, _ seed: UInt64) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let members = [air.adapter(), air.adapter()]
            let peripheral = air.adapter(settings: AdapterSettings(maximumCentrals: 2))
            let stage = RadioStage(
                central: JoinedRadio(members, timeline: time),
                peripheral: JoinedRadio([peripheral], timeline: time),
                address: peripheral.address,
                otherCentral: air.adapter(),
                power: { isOn in
                    for member in members { isOn ? member.powerOn() : member.powerOff() }
                }
            )
            try await clause.check(stage)
        }
    }
}
