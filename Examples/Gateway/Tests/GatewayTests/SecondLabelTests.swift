import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import MQTT
import TestBroker
import Testing

@testable import Gateway

/// A peripheral that the configuration has under two labels, by its address and by its name: each has a session.
@Suite(.timeLimit(.minutes(5))) struct SecondLabelTests {
    @Test func `an update is refused while the peripheral is being updated under its other label`() async throws {
        let folder = try temporaryFolder("labels")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        let sessions = Sessions()
        let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
        let settings = Settings(configuration(folder))
        let commands = Commands(settings: settings, sessions: sessions, publisher: bench.publisher)
        let device = MCUmgrFirmwareReceiver(running: TestImage.octets(1, size: 2000))
        let hash = try TestImage.place(TestImage.octets(2, size: 150_000), in: folder)
        let replies = try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            // It can still be found while there is a link to it.
            var settings = AdapterSettings()
            settings.maximumCentrals = 2
            let (near, far) = (air.adapter(), air.adapter(settings: settings))
            let firmware = Child {
                let peripheral = LocalPeripheral(name: "Pump", advertising: [SharedWorld.service]) { device.service }
                try await peripheral.run(on: .radio(far)) { server in try await device.run(on: server) }
            }
            let gateway = [Child { await commands.take(messages) }, Child { await commands.run() }]
            try await withChildren(gateway + [firmware]) {
                let central = try await Central.open(.radio(near))
                try await central.withFleet { fleet in
                    let plans = [Session.Plan(far.address), Session.Plan(finding: .name("Pump"), .connectable)]
                    for (label, plan) in zip(["a", "b"], plans) { sessions.add(label, fleet.add(plan), nil) }
                    while sessions["b"]?.peripheral == nil { try await time.sleep(for: .milliseconds(10)) }
                    inbox.yield(Self.update("a", hash))
                    while !bench.hasSaid("p/update/a", "percent") { try await time.sleep(for: .milliseconds(10)) }
                    inbox.yield(Self.update("b", hash))
                    while !bench.hasSaid("replies/b", "") { try await time.sleep(for: .milliseconds(10)) }
                    #expect(!bench.hasSaid("replies/a", ""), "the first one goes on")
                    while !bench.hasSaid("replies/a", "") { try await time.sleep(for: .milliseconds(10)) }
                    // Now the other label may.
                    inbox.yield(Self.update("b", hash))
                    while bench.said("replies/b").count < 2 { try await time.sleep(for: .milliseconds(10)) }
                }
            }
            return (a: bench.said("replies/a"), b: bench.said("replies/b"))
        }
        let ok = #"{"ok":true}"#
        #expect(replies.a == [ok])
        #expect(replies.b.count == 2 && replies.b.last == ok, "\(replies.b)")
        let refusal = replies.b.first ?? ""
        #expect(refusal.contains(#""code":"busy""#) && refusal.contains("p/update/a"), "\(refusal)")
        #expect(device.restarts == 1)
    }

    private static func update(_ label: String, _ hash: String) -> MQTTMessage {
        var message = MQTTMessage(
            "p/command",
            Array(#"{"peripheral":"\#(label)","op":"update","image":"\#(hash)"}"#.utf8)
        )
        message.responseTopic = "replies/\(label)"
        return message
    }

    private func configuration(_ folder: String) -> Configuration {
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.peripherals = [.init(label: "a", address: "C4:F2:17:1A:1D:BB"), .init(label: "b", name: "Pump")]
        configuration.permissions = ["a", "b"].map {
            Configuration.Permission(peripheral: $0, operations: ["update"], characteristics: [])
        }
        configuration.images = folder
        return configuration
    }
}
