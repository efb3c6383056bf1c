import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import Leases
import TestBroker

@testable import Gateway

/// Gateways in one process, with one broker and one air: each sensor accepts several centrals, so two gateways that
/// think that they hold it can both connect.
final class SharedWorld: Sendable {
    static let service = BluetoothUUID(0xFFF0)
    static let number = BluetoothUUID(0xFFF1)

    let broker: Broker
    let relays: [Relay]
    let collector: Collector
    let air = SimulatedAir()
    /// Those of the gateways.
    let adapters: [SimulatedAdapter]
    /// Those of the sensors.
    let sensors: [SimulatedAdapter]
    let folder: String
    /// The ports of the gateways' pages for Prometheus.
    let ports: [Int]
    /// What is updated on each sensor; none: the sensors are counters.
    let firmware: [MCUmgrFirmwareReceiver]
    /// What commands may do, with the images of the folder.
    let permissions: [Configuration.Permission]
    /// How long a gateway keeps what it can't use, in milliseconds; as long as usual unless a test is about that: a
    /// busy machine takes its time to connect.
    let patience: Milliseconds
    private let controls: [(stream: AsyncStream<Order>, continuation: AsyncStream<Order>.Continuation)]

    init(
        gateways: Int,
        sensors: Int,
        firmware: [MCUmgrFirmwareReceiver] = [],
        permissions: [Configuration.Permission] = [],
        patience: Milliseconds = LeaseTerms().patience
    ) async throws {
        self.patience = patience
        self.firmware = firmware
        self.permissions = permissions
        let broker = try await Broker("allow_anonymous true\nmax_queued_messages 1000000")
        self.broker = broker
        ports = (0..<gateways).map { _ in freePort() }
        relays = try (0..<gateways).map { _ in try Relay(to: broker.port) }
        collector = try await Collector(on: broker)
        folder = try temporaryFolder("gateways")
        let air = air
        air.traceCapacity = 1_000_000
        adapters = (0..<gateways).map { air.adapter(name: "gateway\($0)") }
        var settings = AdapterSettings()
        settings.maximumCentrals = 4
        self.sensors = (0..<sensors).map { air.adapter(name: "sensor\($0)", settings: settings) }
        controls = (0..<gateways).map { _ in AsyncStream.makeStream() }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Terms with which everything happens within seconds.
    static var terms: LeaseTerms {
        var terms = LeaseTerms()
        (terms.confirmation, terms.pulse, terms.parting) = (4000, 300, 500)
        (terms.lease, terms.renewal, terms.courtesy) = (15_000, 3000, 500)
        (terms.silence, terms.forgetting) = (6000, 30_000)
        (terms.dwell, terms.tenure) = (1000, 3000)
        return terms
    }

    func configuration(_ gateway: Int, isSharing: Bool = true) -> Configuration {
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool\(gateway)"))
        configuration.broker.host = "127.0.0.1"
        configuration.broker.port = relays[gateway].port
        configuration.broker.clientID = "g\(gateway)"
        configuration.broker.keepAlive = 5
        configuration.prefix = "g\(gateway)"
        configuration.metricsPort = ports[gateway]
        configuration.peripherals = sensors.enumerated().map { number, adapter in
            .init(
                label: "s\(number)",
                address: "\(adapter.address)",
                subscriptions: firmware.isEmpty ? [.init(characteristic: Self.number)] : []
            )
        }
        (configuration.permissions, configuration.images) = (permissions, folder)
        if !firmware.isEmpty {
            configuration.campaigns = .init(images: folder)
            configuration.campaigns?.pause = .milliseconds(100)
        }
        if isSharing {
            configuration.leases = .init()
            configuration.leases?.terms = Self.terms
            configuration.leases?.terms.patience = patience
        }
        return configuration
    }

    /// Runs the gateways and the sensors while the closure runs. A gateway or a sensor that fails ends it.
    func run(isSharing: Bool = true, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let devices = sensors.enumerated().map { number, adapter in
            Child { [self] in
                if firmware.isEmpty {
                    try await sensor(adapter)
                } else {
                    try await device(adapter, firmware[number])
                }
            }
        }
        let gateways = adapters.enumerated().map { number, adapter in
            let gateway = Gateway(
                configuration(number, isSharing: isSharing),
                orders: controls[number].stream,
                radio: { .radio(adapter) },
                report: { _ in }
            )
            return Child { try await gateway.run() }
        }
        try await withChildren(devices) {
            try await withChildren(gateways, areCancelled: false) { [self] in
                defer { for number in controls.indices { stop(number) } }
                try await body()
            }
        }
    }

    /// Ends a gateway in order.
    func stop(_ gateway: Int) { controls[gateway].continuation.yield(.stop) }

    /// Lets a gateway have another configuration.
    func reload(_ gateway: Int, _ configuration: Configuration) {
        controls[gateway].continuation.yield(.reload(configuration))
    }

    private func sensor(_ adapter: SimulatedAdapter) async throws {
        let sensor = LocalPeripheral(name: adapter.name, advertising: [Self.service]) {
            LocalService(Self.service) { LocalCharacteristic(Self.number, [.notify], value: .stored([])) }
        }
        try await sensor.run(on: .radio(adapter)) { server in
            for count in 0... {
                try await Task.sleep(for: .milliseconds(100))
                try await server.notify([UInt8(truncatingIfNeeded: count)], of: Self.number)
            }
        }
    }

    private func device(_ adapter: SimulatedAdapter, _ firmware: MCUmgrFirmwareReceiver) async throws {
        let device = LocalPeripheral(name: adapter.name, advertising: [Self.service]) { firmware.service }
        try await device.run(on: .radio(adapter)) { server in try await firmware.run(on: server) }
    }

    // MARK: - What is seen

    /// The number of a metric of a gateway.
    func metric(_ name: String, of gateway: Int) async -> Int? {
        await page(port: ports[gateway]).split(separator: "\n").first { $0.hasPrefix("\(name) ") }
            .flatMap { Int($0.dropFirst(name.count + 1)) }
    }

    /// Takes messages until something is so.
    func take(_ seen: inout SharedValues, until isSo: (SharedValues) -> Bool) async {
        while !isSo(seen), let message = await collector.next() { seen.add(message.topic, message.payload) }
    }

    /// How often a gateway connected to a sensor to which another one was connected.
    var overlaps: Int {
        var (open, links, overlaps): ([BluetoothAddress: Set<Int>], [Int: BluetoothAddress], Int) = ([:], [:], 0)
        for record in air.trace {
            switch record.event {
            case .connected(_, let peripheral):
                if open[peripheral]?.isEmpty == false { overlaps += 1 }
                open[peripheral, default: []].insert(record.link)
                links[record.link] = peripheral
            case .ended:
                if let peripheral = links[record.link] { open[peripheral]?.remove(record.link) }
            case .pdu: break
            }
        }
        return overlaps
    }
}

/// The values of sensors, and who sent them.
struct SharedValues {
    /// The gateway that sent the last value of a sensor.
    private(set) var owners: [String: String] = [:]
    /// The highest epoch of each sensor.
    private var epochs: [String: Epoch] = [:]
    /// Values with a lower epoch than one before, with an epoch of another gateway, or with none.
    private(set) var wrong: [String] = []
    /// How often the owner of a sensor has changed.
    private(set) var changes = 0
    private(set) var values = 0
    private var gateways: [String: GatewayID] = [:]

    private struct Payload: Decodable {
        struct Lease: Decodable {
            var epoch: UInt64
            var gateway: String
        }
        var lease: Lease?
    }

    mutating func add(_ topic: String, _ payload: String) {
        let parts = topic.split(separator: "/")
        guard parts.count == 4, parts[1] == "value" else { return }
        values += 1
        let (gateway, sensor) = (String(parts[0]), String(parts[2]))
        if let old = owners.updateValue(gateway, forKey: sensor), old != gateway { changes += 1 }
        guard let lease = try? JSONDecoder().decode(Payload.self, from: Data(payload.utf8)).lease,
            let bits = UInt64(lease.gateway, radix: 16)
        else { return wrong.append(payload) }
        let epoch = Epoch(number: lease.epoch, gateway: GatewayID(rawValue: bits))
        if gateways[gateway, default: epoch.gateway] != epoch.gateway { wrong.append(payload) }
        gateways[gateway] = epoch.gateway
        if let highest = epochs[sensor], epoch < highest { wrong.append(payload) }
        epochs[sensor] = max(epoch, epochs[sensor] ?? .none)
    }
}
