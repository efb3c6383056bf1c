import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import MQTT
import Spool
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

    private func follower(_ publisher: Publisher, _ sessions: Sessions) -> Follower {
        Follower(
            peripheral: peripheral,
            publisher: publisher,
            sessions: sessions,
            troubles: Troubles { _ in },
            discovery: nil,
            sparkplug: nil
        )
    }
}
