import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import Sparkplug
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// What follows a peripheral.
@Suite(.timeLimit(.minutes(5))) struct FollowerTests {
    private let peripheral = Configuration.Peripheral(
        label: "lock",
        name: "Lock",
        subscriptions: [.init(characteristic: .Characteristics.humidity)]
    )
    /// What is said of it when it is followed no more.
    private static let unfollowed = #"{"peripheral":"lock","state":"not followed","ready":false}"#

    /// It lacks what is subscribed to.
    private static var sensor: LocalPeripheral {
        LocalPeripheral(name: "Lock") {
            LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read], value: 20) }
        }
    }

    /// The streams of values hear of it, too, and end all that follows the session. In each order of the jobs:
    @Test(arguments: UInt64(1)...20)
    func `says that a session has failed, whoever hears of that first`(_ seed: UInt64) async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        let sessions = Sessions()
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            try await Self.sensor.run(on: .radio(air.adapter())) { _ in
                let central = try await Central.open(.radio(air.adapter()))
                try await central.withFleet { fleet in
                    let (end, stop) = AsyncStream<Void>.makeStream()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await run(until: end) { await follower(bench, sessions).run(central, fleet) }
                        }
                        while sessions["lock"]?.state.failure == nil { try await time.sleep(for: .milliseconds(10)) }
                        try await time.sleep(for: .milliseconds(10))
                        stop.finish()
                        try await group.waitForAll()
                    }
                }
            }
        }
        let states = bench.said("p/state/lock")
        #expect(states.contains { $0.contains("failed: ") }, "\(states)")
    }

    @Test func `says last that it follows the peripheral no more`() async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        let sessions = Sessions()
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()))
            try await central.withFleet { fleet in
                let following = Child { await follower(bench, sessions).run(central, fleet) }
                try await withChildren([following]) { try await time.sleep(for: .seconds(1)) }
            }
        }
        let states = bench.said("p/state/lock")
        #expect(states.count > 1)
        #expect(states.last == Self.unfollowed)
    }

    /// Gateways that share peripherals follow all devices of one name under one label.
    @Test func `says how the other device of its label is when one of them is followed no more`() async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        let hosts = try Self.hosts(beside: folder)
        let sessions = Sessions()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            try await Self.sensor.run(on: .radio(far)) { _ in
                let central = try await Central.open(.radio(near))
                try await central.withFleet { fleet in
                    let present = Child {
                        await follower(bench, sessions, Self.lock("\(far.address)"), hosts).run(central, fleet)
                    }
                    let absent = Child {
                        await follower(bench, sessions, Self.lock("C4:F2:17:1A:1D:BB"), hosts).run(central, fleet)
                    }
                    try await withChildren([present]) {
                        while sessions["lock"]?.state.isReady != true { try await time.sleep(for: .milliseconds(10)) }
                        try await withChildren([absent]) { try await time.sleep(for: .seconds(1)) }
                        #expect(bench.said("p/state/lock").last?.contains(#""ready":true"#) == true)
                        #expect(hosts.state.withLock { $0.devices["lock"]?.isOnline } == true)
                    }
                }
            }
        }
        #expect(bench.said("p/state/lock").last == Self.unfollowed)
        #expect(hosts.state.withLock { $0.devices["lock"]?.isOnline } == false)
    }

    @Test func `tells values of one type apart that come from several services`() async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (bench, hosts) = (try PublisherBench(in: folder), try Self.hosts(beside: folder))
        let services = [BluetoothUUID.environmentalSensing, BluetoothUUID(0xFFF0)]
        try await followTank(services, bench, hosts)
        for (number, service) in services.enumerated() {
            let said = bench.said("p/value/tank/2A6E-\(service)")
            #expect(said.count == 1)
            let value = try #require(said.first)
            #expect(value.contains(#""value":"0\#(number)00""#), "\(value)")
            #expect(value.contains(#""characteristic":"2A6E","service":"\#(service)""#), "\(value)")
        }
        var names: Set<String> = []
        while let record = try hosts.spool.next() {
            guard case .values(_, let metrics)? = EdgeRecord(decoding: record.payload) else { continue }
            names.formUnion(metrics.map(\.name))
        }
        #expect(names == ["Environmental Sensing/Temperature", "FFF0/Temperature"])
    }

    /// Follows a peripheral that sends a temperature from each of these services: 0 from the first one, and so on.
    private func followTank(
        _ services: [BluetoothUUID],
        _ bench: PublisherBench,
        _ hosts: SparkplugDriver
    ) async throws {
        let (uuid, sessions) = (BluetoothUUID.Characteristics.temperature, Sessions())
        let tank = Configuration.Peripheral(
            label: "tank",
            name: "Tank",
            subscriptions: services.map { .init(characteristic: uuid, service: $0) }
        )
        let sensor = LocalPeripheral(name: "Tank") {
            LocalService(services[0]) { LocalCharacteristic(uuid, [.notify], id: "sensing") }
            LocalService(services[1]) { LocalCharacteristic(uuid, [.notify], id: "vendor") }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            try await sensor.run(on: .radio(air.adapter())) { server in
                let central = try await Central.open(.radio(air.adapter()))
                try await central.withFleet { fleet in
                    let following = Child { await follower(bench, sessions, tank, hosts).run(central, fleet) }
                    try await withChildren([following]) {
                        while sessions["tank"]?.state.isReady != true { try await time.sleep(for: .milliseconds(10)) }
                        for (number, service) in services.enumerated() {
                            let octets: [UInt8] = [UInt8(number), 0]
                            try await server.notify(octets, of: CharacteristicReference.uuid(uuid, in: service))
                        }
                        try await time.sleep(for: .seconds(1))
                    }
                }
            }
        }
    }

    private static func hosts(beside folder: String) throws -> SparkplugDriver {
        try SparkplugDriver(
            .init(group: "plant", node: "hall", primaryHost: nil),
            beside: .init(folder: "\(folder)/spool", megabytes: 1),
            report: { Issue.record("\($0)") }
        )
    }

    private static func lock(_ address: String) -> Configuration.Peripheral {
        Configuration.Peripheral(label: "lock", address: address)
    }

    private func follower(
        _ bench: PublisherBench,
        _ sessions: Sessions,
        _ other: Configuration.Peripheral? = nil,
        _ hosts: SparkplugDriver? = nil
    ) -> Follower {
        Follower(
            peripheral: other ?? peripheral,
            publisher: bench.publisher,
            sessions: sessions,
            troubles: Troubles { _ in },
            discovery: nil,
            sparkplug: hosts
        )
    }
}
