import BLESimulator
import BLEStreams
import Foundation
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// A peripheral that shows nothing to anybody who isn't paired with it, and one beside it that shows all.
@Suite(
    "A peripheral that requires pairing",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct PairingTests {
    @Test func `is told of once, with what to configure, and holds up no other peripheral`() async throws {
        let world = try await PairingWorld()
        try await world.run(pairing: nil) {
            var (remedy, hasOther) = ("", false)
            // At the fourth failure, three more than the first one could have been told of.
            while remedy.isEmpty || !hasOther, let message = await world.collector.next() {
                if message.topic == "test/value/open/2A6E" { hasOther = true }
                guard message.topic == "test/state/lock", message.payload.contains("(failure 4") else { continue }
                remedy = message.payload
            }
            #expect(remedy.contains("Insufficient Authentication"), "\(remedy)")
            #expect(remedy.contains("configure `pairing` of the peripheral") && remedy.contains("ble pair "))
            #expect(hasOther)
            let metrics = await page(port: world.port)
            #expect(metrics.contains(#"gateway_peripheral_trouble{peripheral="lock",code="attributeError"} 1"#))
            #expect(!metrics.contains(#"gateway_peripheral_trouble{peripheral="open""#))
        }
        let lines = world.lines(of: "lock")
        #expect(lines.count == 1 && lines.first?.contains("configure `pairing`") == true, "\(lines)")
    }

    @Test func `is paired with by the configured passkey, which is never said`() async throws {
        let world = try await PairingWorld()
        try await world.run(pairing: .passkey(PairingWorld.passkey)) {
            while let message = await world.collector.next(), message.topic != "test/value/lock/2A6E" {}
            let metrics = await page(port: world.port)
            #expect(!metrics.contains("gateway_peripheral_trouble{"))
        }
        #expect(world.lines(of: "lock") == [])
        #expect(!world.hasSaidThePasskey)
    }

    @Test func `is told of if the passkey is wrong, and is ready as soon as it is corrected`() async throws {
        let world = try await PairingWorld()
        try await world.run(pairing: .passkey(1)) {
            while let message = await world.collector.next() {
                if message.topic == "test/state/lock", message.payload.contains("failed: ") { break }
            }
            world.control.yield(.reload(world.configuration(.passkey(PairingWorld.passkey))))
            while let message = await world.collector.next(), message.topic != "test/value/lock/2A6E" {}
            let metrics = await page(port: world.port)
            #expect(!metrics.contains("gateway_peripheral_trouble{"))
        }
        let lines = world.lines(of: "lock")
        #expect(lines.count == 1 && lines.first?.contains("Correct the file of `pairing.passkeyFile`") == true)
        #expect(!world.hasSaidThePasskey)
    }

    @Test func `is tried again after a failure also if nothing is subscribed to, as for commands alone`() async throws {
        let world = try await PairingWorld()
        try await world.run(pairing: .passkey(1), subscribing: false) {
            var failures = 0
            while failures < 2, let message = await world.collector.next() {
                guard message.topic == "test/state/lock", message.payload.contains("failed: ") else { continue }
                failures += 1
            }
            #expect(failures == 2)
        }
    }

    @Test func `with a passkey, is not paired with by just works`() async throws {
        let world = try await PairingWorld()
        try await world.run(pairing: .justWorks) {
            while let message = await world.collector.next() {
                if message.topic == "test/state/lock", message.payload.contains("failed: ") { break }
            }
        }
        let lines = world.lines(of: "lock")
        #expect(lines.count == 1 && lines.first?.contains("`pairing.passkeyFile`") == true, "\(lines)")
    }
}

/// A broker, a subscriber, two simulated thermometers, and a gateway.
private final class PairingWorld: Sendable {
    static let passkey: UInt32 = 624_813

    let collector: Collector
    let control: AsyncStream<Order>.Continuation
    let port = freePort()
    private let said = Mutex<[String]>([])
    private let orders: AsyncStream<Order>
    private let broker: Broker
    private let air = SimulatedAir()
    private let folder: String

    init() async throws {
        broker = try await Broker()
        collector = try await Collector(on: broker)
        folder = try temporaryFolder("gateway")
        (orders, control) = AsyncStream.makeStream()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// What a person was told of a peripheral.
    func lines(of label: String) -> [String] { said.withLock { $0.filter { $0.hasPrefix("\(label): ") } } }

    /// Whether the passkey is in anything that a person was told.
    var hasSaidThePasskey: Bool { said.withLock { $0.contains { $0.contains("\(Self.passkey)") } } }

    func configuration(_ pairing: Configuration.Pairing?, subscribing: Bool = true) -> Configuration {
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.broker.host = "127.0.0.1"
        configuration.broker.port = broker.port
        configuration.prefix = "test"
        configuration.metricsPort = port
        let temperature = [Configuration.Subscription(characteristic: .Characteristics.temperature)]
        configuration.peripherals = [
            .init(label: "lock", name: "Lock", subscriptions: subscribing ? temperature : [], pairing: pairing),
            .init(label: "open", name: "Open", subscriptions: temperature),
        ]
        return configuration
    }

    /// Runs a gateway while the closure runs.
    func run(
        pairing: Configuration.Pairing?,
        subscribing: Bool = true,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let gateway = Gateway(
            configuration(pairing, subscribing: subscribing),
            orders: orders,
            radio: { [air] in .radio(air.adapter()) },
            report: { line in self.said.withLock { $0.append(line) } }
        )
        let sensors = [
            Child { [self] in try await sensor("Lock", .showsPasskey(Self.passkey), .authenticated) },
            Child { [self] in try await sensor("Open", .justWorks, .open) },
        ]
        try await withChildren(sensors) {
            try await withChildren([Child { try await gateway.run() }], areCancelled: false) { [self] in
                defer { control.yield(.stop) }
                try await body()
            }
        }
    }

    /// Sends a value to each central that subscribes.
    private func sensor(_ name: String, _ manner: PairingManner, _ access: AccessRequirement) async throws {
        let uuid = BluetoothUUID.Characteristics.temperature
        let sensor = LocalPeripheral(name: name) {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(uuid, [.read, .notify], value: .stored([0, 8]), access: access)
            }
        }
        try await sensor.run(on: .radio(air.adapter(settings: AdapterSettings(pairing: manner)))) { server in
            for try await change in server.subscriptions(of: uuid) where change.isSubscribed {
                try await server.notify([2, 8], of: uuid, to: change.central)
            }
        }
    }
}
