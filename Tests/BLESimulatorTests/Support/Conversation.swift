import BLEProtocol
import BLERadio
import BLESimulator
import Testing

/// Two adapters on one air with a link between them, and recorders at both ends.
struct Conversation {
    let air: SimulatedAir
    let central: SimulatedAdapter
    let peripheral: SimulatedAdapter
    let centralLink: any ATTLink
    let peripheralLink: any ATTLink
    let atCentral = LinkRecorder()
    let atPeripheral = LinkRecorder()
    let activities: [RadioActivity]

    /// Advertises, connects and starts both ends; the fault plan may be laid before.
    init(
        _ time: VirtualTime,
        settings: AdapterSettings = AdapterSettings(linkTiming: .immediate),
        prepare: (SimulatedAir, SimulatedAdapter, SimulatedAdapter) -> Void = { _, _, _ in }
    ) async throws {
        air = SimulatedAir(time)
        air.traceCapacity = 10_000
        central = air.adapter(name: "central", settings: settings)
        peripheral = air.adapter(name: "peripheral", settings: settings)
        prepare(air, central, peripheral)
        let accepted = Log<any ATTLink>()
        let connected = Log<any ATTLink>()
        let listener = peripheral.listen { event in
            if case .accepted(let link) = event { accepted.append(link) }
        }
        let advertisement = peripheral.advertise(AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))) { _ in }
        let attempt = central.connect(to: peripheral.address) { result in
            if case .success(let link) = result { connected.append(link) }
        }
        for _ in 0..<1000 where connected.values.isEmpty || accepted.values.isEmpty {
            try await time.sleep(for: .milliseconds(1))
        }
        centralLink = try #require(connected.values.first)
        peripheralLink = try #require(accepted.values.first)
        centralLink.start(atCentral)
        peripheralLink.start(atPeripheral)
        activities = [listener, advertisement, attempt]
    }
}
