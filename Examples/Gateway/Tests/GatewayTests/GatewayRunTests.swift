import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import MQTT
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "A gateway",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct GatewayRunTests {
    /// Where Home Assistant learns of the thermometer.
    private static let announcement = "ha/sensor/test-thermo/2A6E/config"

    @Test("publishes states, advertisements, values, gaps, health and what Home Assistant needs")
    func everything() async throws {
        let world = try await World()
        var configuration = world.configuration
        configuration.advertisements = .init(window: 3600)
        configuration.homeAssistantPrefix = "ha"
        try await world.run(configuration) {
            var topics: [String: String] = [:]
            // A link is lost after a second, and the values go on after a gap. On a busy machine that can be in front
            // of the first value, behind which Home Assistant is told of it.
            var hasGone = false
            while !hasGone, let message = await world.collector.next() {
                topics[message.topic] = message.payload
                hasGone =
                    message.topic == "test/value/thermo/2A6E" && topics["test/gap/thermo/2A6E"] != nil
                    && topics[Self.announcement] != nil
            }
            #expect(topics["test/status"] == "online")
            #expect(topics["test/value/thermo/2A6E"]?.contains(#""decoded":20.5"#) == true)
            #expect(topics["test/gap/thermo/2A6E"]?.contains(#""dropped":0"#) == true)
            #expect(topics["test/gap/thermo/2A6E"]?.contains(#""reason":"#) == true)
            #expect(topics["test/health"]?.contains(#""records":"#) == true)
            #expect(topics[Self.announcement]?.contains(#""unit_of_measurement":"°C""#) == true)
            let advertisements = topics.filter { $0.key.hasPrefix("test/advertisement/") }
            #expect(advertisements.values.contains { $0.contains(#""name":"Thermometer""#) })
        }
    }

    @Test("carries out what the configuration permits, and nothing else")
    func commands() async throws {
        let world = try await World(losesLinks: false)
        var configuration = world.configuration
        configuration.permissions = [
            .init(peripheral: "thermo", operations: ["read"], characteristics: [.Characteristics.temperature])
        ]
        let asker = Asker(world.broker, "test/command")
        try await world.run(configuration) {
            while let message = await world.collector.next(), message.topic != "test/value/thermo/2A6E" {}
            await asker.run { ask in
                let read = #"{"id":1,"peripheral":"thermo","op":"read","characteristic":"2A6E"}"#
                #expect(await ask(read).contains(#""id":1,"ok":true,"value":"0208","decoded":20.5"#))
                let write = #"{"id":2,"peripheral":"thermo","op":"write","characteristic":"2A6E","value":"00"}"#
                #expect(await ask(write).contains("notPermitted"))
                let other = #"{"id":3,"peripheral":"other","op":"read","characteristic":"2A6E"}"#
                #expect(await ask(other).contains("notPermitted"))
                #expect(await ask(#"{"id":4,"peripheral":"thermo","op":"connect"}"#).contains("notPermitted"))
                #expect(await ask("nonsense").contains("refused"))
            }
        }
    }

    @Test("serves its numbers to Prometheus")
    func metrics() async throws {
        let world = try await World(losesLinks: false)
        var configuration = world.configuration
        configuration.metricsPort = freePort()
        let port = configuration.metricsPort ?? 0
        try await world.run(configuration) {
            while let message = await world.collector.next(), message.topic != "test/value/thermo/2A6E" {}
            let text = await page(port: port)
            #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n"))
            #expect(text.contains("gateway_broker_up 1\n"))
            #expect(text.contains("ble_links{peripheral="))
        }
    }

    @Test("goes over to another broker and another prefix, and stays with the old ones if the new can't be used")
    func reloading() async throws {
        let (world, other) = (try await World(losesLinks: false), try await Broker())
        let elsewhere = try await Collector(on: other)
        try await world.run(world.configuration) {
            while let message = await world.collector.next(), message.topic != "test/value/thermo/2A6E" {}
            var configuration = world.configuration
            configuration.broker.port = other.port
            world.control.yield(.reload(configuration))
            while let message = await world.collector.next(), message.payload != "offline" {}
            while let message = await elsewhere.next(), message.topic != "test/value/thermo/2A6E" {}
            configuration.prefix = "new"
            world.control.yield(.reload(configuration))
            while let message = await elsewhere.next(), message.topic != "new/value/thermo/2A6E" {}
            configuration.spool.folder = "/proc/nowhere"
            configuration.prefix = "newer"
            world.control.yield(.reload(configuration))
            while let message = await elsewhere.next(), message.payload != "offline" {}
            while let message = await elsewhere.next(), message.topic != "new/value/thermo/2A6E" {}
        }
        let said = world.said.withLock { $0.filter { $0.hasPrefix("configuration:") } }
        let ends = ["applied", "made again", "applied", "made again", "stays in force."]
        #expect(said.count == ends.count && zip(said, ends).allSatisfy { $0.hasSuffix($1) }, "\(said)")
    }

    /// Runs a gateway, and the closure when Home Assistant has learned of the thermometer.
    private func announced(
        _ body: @escaping @Sendable (World, Configuration) async throws -> Void
    ) async throws {
        let world = try await World(losesLinks: false)
        var configuration = world.configuration
        configuration.homeAssistantPrefix = "ha"
        try await world.run(configuration) { [configuration] in
            while let message = await world.collector.next(), message.topic != Self.announcement {}
            try await body(world, configuration)
        }
    }

    @Test("removes the state of a peripheral that leaves the configuration, and what Home Assistant knows of it")
    func removal() async throws {
        try await announced { world, configuration in
            var configuration = configuration
            configuration.peripherals[0].label = "renamed"
            world.control.yield(.reload(configuration))
            // Those that are there, and those that are gone, in any order.
            var (gone, there): (Set<String>, Set<String>) = ([], [])
            let renamed: Set = ["test/state/renamed", "ha/sensor/test-renamed/2A6E/config"]
            while !there.isSuperset(of: renamed) || gone.count < 2, let message = await world.collector.next() {
                if message.payload.isEmpty { gone.insert(message.topic) } else { there.insert(message.topic) }
            }
            #expect(gone == ["test/state/thermo", Self.announcement])
            configuration.prefix = "new"
            world.control.yield(.reload(configuration))
            gone = []
            while gone.count < 2, let message = await world.collector.next() {
                if message.payload.isEmpty { gone.insert(message.topic) }
            }
            #expect(gone == renamed)
        }
    }

    @Test("takes back what Home Assistant knows of a characteristic that goes in a change that begins again")
    func removedCharacteristic() async throws {
        try await announced { world, configuration in
            var configuration = configuration
            configuration.peripherals[0].subscriptions = []
            configuration.metricsPort = freePort()
            world.control.yield(.reload(configuration))
            var gone: Set<String> = []
            while let message = await world.collector.next(), message.payload != "offline" {
                if message.payload.isEmpty { gone.insert(message.topic) }
            }
            #expect(gone == [Self.announcement])
        }
    }
}

/// A broker, a subscriber, a simulated thermometer, and what a gateway needs.
private final class World: Sendable {
    let broker: Broker
    let collector: Collector
    let control: AsyncStream<Order>.Continuation
    let configuration: Configuration
    /// What a person was told.
    let said = Mutex<[String]>([])
    private let orders: AsyncStream<Order>
    private let air = SimulatedAir()
    private let folder: String
    private let losesLinks: Bool

    init(losesLinks: Bool = true) async throws {
        self.losesLinks = losesLinks
        broker = try await Broker()
        collector = try await Collector(on: broker)
        folder = try temporaryFolder("gateway")
        (orders, control) = AsyncStream.makeStream()
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.broker.host = "127.0.0.1"
        configuration.broker.port = broker.port
        configuration.prefix = "test"
        configuration.peripherals = [
            .init(
                label: "thermo",
                name: "Thermometer",
                subscriptions: [.init(characteristic: .Characteristics.temperature)]
            )
        ]
        self.configuration = configuration
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs a gateway while the closure runs.
    func run(_ configuration: Configuration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let gateway = Gateway(
            configuration,
            orders: orders,
            radio: { [air] in .radio(air.adapter()) },
            report: { line in self.said.withLock { $0.append(line) } }
        )
        try await withChildren([Child { [self] in try await thermometer() }]) {
            try await withChildren([Child { try await gateway.run() }], areCancelled: false) { [self] in
                defer { control.yield(.stop) }
                try await body()
            }
        }
    }

    private func thermometer() async throws {
        let sensor = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read, .notify], value: 20.5) }
        }
        let adapter = air.adapter()
        if losesLinks { air.faults.add(.loseLinks(every: .seconds(1)), on: adapter) }
        try await sensor.run(on: .radio(adapter)) { server in
            while true {
                try await Task.sleep(for: .milliseconds(20))
                try await server.notify(20.5, of: .temperature)
            }
        }
    }
}
