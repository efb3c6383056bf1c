import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import MQTT
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

    /// The streams of values hear of it, too, and end all that follows the session. In each order of the jobs:
    @Test(arguments: UInt64(1)...20)
    func `says that a session has failed, whoever hears of that first`(_ seed: UInt64) async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let (publisher, outbox) = (Publisher(spool, prefix: "p") { _ in }, Outbox(spool, prefix: "p") { _ in })
        publisher.use(outbox)
        outbox.connected()
        let sessions = Sessions()
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            // It lacks what is subscribed to.
            let sensor = LocalPeripheral(name: "Lock") {
                LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read], value: 20) }
            }
            try await sensor.run(on: .radio(air.adapter())) { _ in
                let central = try await Central.open(.radio(air.adapter()))
                try await central.withFleet { fleet in
                    let (end, stop) = AsyncStream<Void>.makeStream()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await run(until: end) { await follower(publisher, sessions).run(central, fleet) }
                        }
                        while sessions["lock"]?.state.failure == nil { try await time.sleep(for: .milliseconds(10)) }
                        try await time.sleep(for: .milliseconds(10))
                        stop.finish()
                        try await group.waitForAll()
                    }
                }
            }
        }
        var states: [String] = []
        while let message = outbox.next()?.message {
            if message.topic == "p/state/lock" { states.append(String(decoding: message.payload, as: UTF8.self)) }
        }
        #expect(states.contains { $0.contains("failed: ") }, "\(states)")
    }

    @Test func `says last that it follows the peripheral no more`() async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let (publisher, outbox) = (Publisher(spool, prefix: "p") { _ in }, Outbox(spool, prefix: "p") { _ in })
        publisher.use(outbox)
        outbox.connected()
        let sessions = Sessions()
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()))
            try await central.withFleet { fleet in
                let following = Child { await follower(publisher, sessions).run(central, fleet) }
                try await withChildren([following]) { try await time.sleep(for: .seconds(1)) }
            }
        }
        var states: [String] = []
        while let message = outbox.next()?.message {
            if message.topic == "p/state/lock" { states.append(String(decoding: message.payload, as: UTF8.self)) }
        }
        #expect(states.count > 1)
        #expect(states.last == #"{"peripheral":"lock","state":"not followed","ready":false}"#)
    }

    /// Gateways that share peripherals follow all devices of one name under one label.
    @Test func `says how the other device of its label is when one of them is followed no more`() async throws {
        let folder = try temporaryFolder("follower")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let (publisher, outbox) = (Publisher(spool, prefix: "p") { _ in }, Outbox(spool, prefix: "p") { _ in })
        publisher.use(outbox)
        outbox.connected()
        let hosts = try SparkplugDriver(
            .init(group: "plant", node: "hall", primaryHost: nil),
            beside: .init(folder: "\(folder)/spool", megabytes: 1),
            report: { Issue.record("\($0)") }
        )
        let sessions = Sessions()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let sensor = LocalPeripheral(name: "Lock") {
                LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read], value: 20) }
            }
            try await sensor.run(on: .radio(far)) { _ in
                let central = try await Central.open(.radio(near))
                try await central.withFleet { fleet in
                    let present = Child {
                        await follower(publisher, sessions, Self.lock("\(far.address)"), hosts).run(central, fleet)
                    }
                    let absent = Child {
                        await follower(publisher, sessions, Self.lock("C4:F2:17:1A:1D:BB"), hosts).run(central, fleet)
                    }
                    try await withChildren([present]) {
                        while sessions["lock"]?.state.isReady != true { try await time.sleep(for: .milliseconds(10)) }
                        try await withChildren([absent]) { try await time.sleep(for: .seconds(1)) }
                        #expect(Self.lastState(outbox).contains(#""ready":true"#))
                        #expect(hosts.state.withLock { $0.devices["lock"]?.isOnline } == true)
                    }
                }
            }
        }
        #expect(Self.lastState(outbox) == #"{"peripheral":"lock","state":"not followed","ready":false}"#)
        #expect(hosts.state.withLock { $0.devices["lock"]?.isOnline } == false)
    }

    private static func lock(_ address: String) -> Configuration.Peripheral {
        Configuration.Peripheral(label: "lock", address: address)
    }

    /// What was published last of the state since this was last asked.
    private static func lastState(_ outbox: Outbox) -> String {
        var last = ""
        while let message = outbox.next()?.message {
            if message.topic == "p/state/lock" { last = String(decoding: message.payload, as: UTF8.self) }
        }
        return last
    }

    private func follower(
        _ publisher: Publisher,
        _ sessions: Sessions,
        _ other: Configuration.Peripheral? = nil,
        _ hosts: SparkplugDriver? = nil
    ) -> Follower {
        Follower(
            peripheral: other ?? peripheral,
            publisher: publisher,
            sessions: sessions,
            troubles: Troubles { _ in },
            discovery: nil,
            sparkplug: hosts
        )
    }
}
