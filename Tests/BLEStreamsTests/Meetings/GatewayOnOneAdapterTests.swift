import BLESimulator
import BLEStreams
import Testing

/// A gateway on one adapter, which scans, follows a sensor, and serves what that sends to a phone.
@Suite(.timeLimit(.minutes(10))) struct GatewayOnOneAdapterTests {
    private static let number = BluetoothUUID(0xB001)

    private static let gateway: LocalPeripheral = {
        var gateway = LocalPeripheral(name: "Gateway") {
            LocalService(BluetoothUUID(0xB000)) { LocalCharacteristic(number, [.notify]) }
        }
        gateway.resuming = .exponential()
        return gateway
    }()

    /// Serves, and gives on to whoever has subscribed what the sensor sends.
    private static func relay(_ bench: Bench) async throws {
        let ignore: PeerStore.Warning = { _ in }
        try await gateway.run(on: bench.centralAdapter, warning: ignore) { server in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                for try await value in session.notifications(of: Bench.notifying) {
                    _ = try await server.notify(value.bytes, of: number)
                }
            }
        }
    }

    @Test(arguments: [false, true], 1...3 as ClosedRange<UInt64>)
    func `serving, scanning and the session all go on when the adapter is back`(isUnplugged: Bool, seed: UInt64)
        async throws
    {
        try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
            let beacon = bench.air.adapter()
            let phone = try await Central.open(.radio(bench.air.adapter()))
            let heard = Recorder<BluetoothAddress>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await LocalPeripheral(name: "Beacon") {}.run(on: beacon) }
                group.addTask { try await Self.relay(bench) }
                group.addTask {
                    let scan = bench.central.scan(duplicates: true).retry(.constant(.seconds(1)))
                    for try await discovery in scan { heard.add(discovery.address) }
                }
                for round in 0..<2 {
                    let count = heard.all.count
                    let found = try await phone.scan(for: .name("Gateway")).timeout(.seconds(60)).first()
                    try await found.peripheral.withLink { link in
                        let values = try await link.notifications(of: Self.number).timeout(.seconds(60)).collect(8)
                        let numbers = values.map { UInt32(octets: $0) }
                        #expect(numbers == Array(numbers[0]..<numbers[0] + 8))
                    }
                    #expect(heard.all.dropFirst(count).contains(beacon.address))
                    guard round == 0 else { continue }
                    if isUnplugged { bench.centralAdapter.unplug() } else { bench.centralAdapter.powerOff() }
                    try await bench.time.sleep(for: .seconds(60))
                    #expect(bench.centralAdapter.activity.links.isEmpty)
                    if isUnplugged { bench.centralAdapter.plugIn() } else { bench.centralAdapter.powerOn() }
                }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            try await bench.time.sleep(for: .seconds(5))
            #expect(bench.centralAdapter.activity.isIdle)
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
        }
    }

    @Test func `who waits for a device that connects meanwhile hears of that link, and ends it by no power cycle`()
        async throws
    {
        try await Bench.run { bench in
            let phone = bench.air.adapter()
            let central = try await Central.open(.radio(phone))
            try await Self.gateway.run(on: bench.centralAdapter) { _ in
                async let visit: Void = {
                    try await bench.time.sleep(for: .seconds(1))
                    try await central.peripheral(bench.centralAdapter.address).withLink { _ in
                        try await bench.time.sleep(for: .seconds(20))
                    }
                }()
                let peripheral = bench.central.peripheral(phone.address)
                let error = await bleError { try await peripheral.withLink(timeout: .seconds(10)) { _ in } }
                #expect(error?.code == .timedOut && error?.elapsed == .seconds(10))
                #expect(error?.cause.contains("did not accept a connection within 10.0 seconds: it has") == true)
                #expect(error?.remedy.contains("ConnectedCentral.disconnect()") == true, "\(error as Any)")
                #expect(error?.remedy.contains("powerCycle") == false)
                try await visit
                // Without that link, it is looked for where it may be.
                let vain = await bleError { try await peripheral.withLink(timeout: .seconds(10)) { _ in } }
                #expect(vain?.cause == "the peripheral did not accept a connection within 10.0 seconds")
            }
        }
    }
}
