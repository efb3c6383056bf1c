import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioContract
import Testing

/// To be recorded changes nothing of what a radio does.
@Suite(.timeLimit(.minutes(10))) struct CapturedContractTests {
    @Test(arguments: RadioClause.all)
    func `a radio that is recorded keeps the contract of all radios`(_ clause: RadioClause) async throws {
        try await withCapture { capture, _ in
            try await VirtualTime.run(seed: 1) { time in
                let air = SimulatedAir(time)
                let central = air.adapter()
                let peripheral = air.adapter(settings: AdapterSettings(maximumCentrals: 2))
                let stage = RadioStage(
                    central: CaptureRadio(central, capture: capture),
                    peripheral: CaptureRadio(peripheral, capture: capture),
                    address: peripheral.address,
                    otherCentral: air.adapter(),
                    power: { $0 ? central.powerOn() : central.powerOff() }
                )
                try await clause.check(stage)
            }
        }
    }

    @Test func `what is asked of the adapter and of a link is asked of the one that is recorded`() async throws {
        try await withCapture { capture, _ in
            try await VirtualTime.run(seed: 1) { time in
                let air = SimulatedAir(time)
                let adapter = air.adapter()
                let radio = CaptureRadio(adapter, capture: capture)
                let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
                #expect(radio.adapterInfo == adapter.adapterInfo && !radio.hasLink(to: peer))
                #expect(radio.connectObstacle == nil && !radio.isLinked)
                _ = try await Events { radio.setPowered(false, result: $0) }.next()?.get()
                #expect(adapter.state == .poweredOff)
                #expect(radio.connectObstacle?.cause == adapter.connectObstacle?.cause)
                _ = try await Events { radio.setPowered(true, result: $0) }.next()?.get()
                #expect(adapter.state == .poweredOn)
                _ = try await Events {
                    radio.powerCycle(result: $0)
                    return RadioActivity {}
                }.next()?.get()
                _ = try await Events { radio.reset(result: $0) }.next()?.get()
                let data = try await Events { radio.makeOutOfBandData(result: $0) }.next()?.get()
                #expect(data?.address == adapter.address)
                let isPrivate = try await Events { radio.readPrivacy(result: $0) }.next()?.get()
                #expect(isPrivate == false)
                _ = try await Events { radio.restore([], result: $0) }.next()?.get()
                let hadKey = try await Events { radio.unpair(peer, result: $0) }.next()?.get()
                #expect(hadKey == false)
            }
        }
    }
}
