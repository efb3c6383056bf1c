import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "Commands that concern a whole peripheral",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct UpdateCommandTests {
    @Test("a peripheral is updated, tells how far it is, and one update runs at a time")
    func update() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 60_000))
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await Self.world(of: device)
        let hash = try TestImage.place(new, in: world.folder)
        let (asker, other) = (Asker(world.broker, "g0/command"), Asker(world.broker, "g0/command", name: "other"))
        let update = #"{"id":1,"peripheral":"s0","op":"update","image":"\#(hash)"}"#
        try await world.run(isSharing: false) {
            await Self.readiness(of: world)
            var seen: [String] = []
            await asker.run { ask in
                async let reply = ask(update)
                // It has begun when it says how far it is.
                while let message = await world.collector.next() {
                    guard message.topic == "g0/update/s0" else { continue }
                    seen.append(message.payload)
                    if message.payload.contains(#""percent":"#) { break }
                }
                await other.run { ask in
                    let second = await ask(#"{"id":2,"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                    #expect(second.contains(#""code":"busy""#), "\(second)")
                }
                #expect(await reply == #"{"id":1,"ok":true}"#)
            }
            while seen.last?.contains("done") != true, let message = await world.collector.next() {
                if message.topic == "g0/update/s0" { seen.append(message.payload) }
            }
            #expect(seen.contains { $0.contains(#""phase":"upload","percent":"#) }, "\(seen)")
            #expect(Set(seen).count == seen.count, "something was published twice")
            #expect(seen.allSatisfy { $0.contains(hash) })
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
    }

    @Test func `an update goes on while the gateway goes over to another connection to the broker`() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 150_000))
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await Self.world(of: device)
        let hash = try TestImage.place(new, in: world.folder)
        let asker = Asker(world.broker, "g0/command")
        try await world.run(isSharing: false) {
            await Self.readiness(of: world)
            await asker.run { _ in
                asker.tell(#"{"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                var (last, hasReloaded) = ("", false)
                while !Self.isOver(last), let message = await world.collector.next() {
                    guard message.topic == "g0/update/s0" else { continue }
                    last = message.payload
                    guard !hasReloaded, last.contains(#""percent":"#) else { continue }
                    hasReloaded = true
                    var configuration = world.configuration(0, isSharing: false)
                    configuration.broker.keepAlive += 1
                    world.reload(0, configuration)
                }
                #expect(hasReloaded && last.contains(UpdateNews.done), "\(last)")
            }
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
    }

    @Test("an update that an earlier run of the gateway left in the middle is told as failed")
    func interrupted() async throws {
        let device = MCUmgrFirmwareReceiver(running: TestImage.octets(1, size: 2000))
        let world = try await Self.world(of: device)
        for (label, phase) in [("s0", "upload"), ("s1", "done")] {
            let words = ["-h", "127.0.0.1", "-p", "\(world.broker.port)", "-V", "5", "-q", "1", "-r"]
            let text = #"{"image":"00","phase":"\#(phase)","percent":40}"#
            let message = ["-t", "g0/update/\(label)", "-m", text]
            #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words + message).waitForEnd() == 0)
        }
        let asker = Asker(world.broker, "g0/command")
        try await world.run(isSharing: false) {
            var seen: [String] = []
            while let message = await world.collector.next(), message.payload != "offline" {
                if message.topic.hasPrefix("g0/update/") { seen.append("\(message.topic) \(message.payload)") }
                guard message.topic == "g0/state/s0", message.payload.contains(#""ready":true"#) else { continue }
                await asker.run { ask in
                    #expect(await ask(#"{"id":1,"peripheral":"s0","op":"connect"}"#) == #"{"id":1,"ok":true}"#)
                }
                // Its end comes behind what was said before the command was answered.
                world.stop(0)
            }
            #expect(seen.dropFirst(2) == [#"g0/update/s0 {"image":"00","phase":"failed"}"#])
        }
    }

    @Test("an image that isn't there is refused with what to do, and the peripheral is left alone")
    func missing() async throws {
        let old = TestImage.octets(1, size: 2000)
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await Self.world(of: device)
        let asker = Asker(world.broker, "g0/command")
        try await world.run(isSharing: false) {
            await Self.readiness(of: world)
            await asker.run { ask in
                #expect(await ask(#"{"id":1,"peripheral":"s0","op":"connect"}"#) == #"{"id":1,"ok":true}"#)
                // With a link, it has nothing to do.
                #expect(await ask(#"{"id":2,"peripheral":"s0","op":"connect"}"#) == #"{"id":2,"ok":true}"#)
                let hash = String(repeating: "0", count: 64)
                let reply = await ask(#"{"id":3,"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                #expect(reply.contains("can't be read") && reply.contains("Copy the image there."), "\(reply)")
            }
        }
        #expect(device.runningImage == old && device.restarts == 0)
    }

    /// A gateway that follows one device, and may be told to connect to it and to update it.
    private static func world(of device: MCUmgrFirmwareReceiver) async throws -> SharedWorld {
        let permission = Configuration.Permission(
            peripheral: "s0",
            operations: ["connect", "update"],
            characteristics: []
        )
        return try await SharedWorld(gateways: 1, sensors: 1, firmware: [device], permissions: [permission])
    }

    private static func isOver(_ news: String) -> Bool { UpdateNews.ends.contains { news.contains($0) } }

    /// A command to a gateway that hasn't subscribed yet reaches nobody.
    private static func readiness(of world: SharedWorld) async {
        while let message = await world.collector.next() {
            if message.topic == "g0/state/s0", message.payload.contains(#""ready":true"#) { return }
        }
    }
}
