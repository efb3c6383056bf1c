import BLEDevices
import BLESimulator
import BLEStreams
import Campaigns
import Foundation
import Leases
import TestBroker
import Testing

@testable import Gateway

/// What a command meets: no link, a campaign, a lease that is over, the end of the gateway.
@Suite(
    "A command that something comes between",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct InterruptedCommandTests {
    private static let permission = Configuration.Permission(
        peripheral: "s0",
        operations: ["connect", "update"],
        characteristics: []
    )

    private let old = TestImage.octets(1, size: 2000)

    @Test("connects at once to a peripheral whose next attempt is far away")
    func connecting() async throws {
        let world = try await SharedWorld(gateways: 1, sensors: 1, permissions: [Self.permission])
        let asker = Asker(world.broker, "g0/command")
        try await world.run(isSharing: false) {
            await Self.state(of: world) { $0.contains(#""ready":true"#) }
            let (gateway, sensor) = (world.adapters[0], world.sensors[0])
            let fault = world.air.faults.add(.neverEstablish(), between: gateway, and: sensor)
            world.air.faults.add(.dropLink(after: Duration.zero), between: gateway, and: sensor)
            // The next attempt is four seconds away.
            await Self.state(of: world) { $0.contains("failure 5,") }
            world.air.faults.remove(fault)
            await asker.run { ask in
                #expect(await ask(#"{"id":1,"peripheral":"s0","op":"connect"}"#) == #"{"id":1,"ok":true}"#)
            }
            var causes: [String] = []
            await Self.state(of: world) { state in
                causes.append(state)
                return state.contains(#""ready":true"#)
            }
            #expect(causes.first?.contains(#""cause":"connect""#) == true, "\(causes)")
        }
    }

    @Test("waits for none of another peripheral, however many wait for one that isn't there")
    func absence() async throws {
        let permissions = ["s0", "s1"].map {
            Configuration.Permission(peripheral: $0, operations: ["connect"], characteristics: [])
        }
        let world = try await SharedWorld(gateways: 1, sensors: 2, permissions: permissions)
        world.air.faults.add(.neverEstablish(), between: world.adapters[0], and: world.sensors[0])
        let (operator0, operator1) = (
            Asker(world.broker, "g0/command", name: "operator0"), Asker(world.broker, "g0/command", name: "operator1")
        )
        try await world.run(isSharing: false) {
            while let message = await world.collector.next() {
                if message.topic == "g0/state/s1", message.payload.contains(#""ready":true"#) { break }
            }
            await operator0.run { ask in
                // More than may wait, so that the reply to the last one says that they all have come.
                for id in 0..<300 { operator0.tell(#"{"id":\#(id),"peripheral":"s0","op":"connect"}"#) }
                let refusal = await ask(#"{"id":300,"peripheral":"s0","op":"connect"}"#)
                #expect(refusal.contains("too many commands wait"), "\(refusal)")
                await operator1.run { ask in
                    #expect(await ask(#"{"id":1,"peripheral":"s1","op":"connect"}"#) == #"{"id":1,"ok":true}"#)
                }
            }
        }
    }

    @Test("is told that a campaign updates the peripheral")
    func besideACampaign() async throws {
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device], permissions: [Self.permission])
        let (new, other) = (TestImage.octets(2, size: 150_000), TestImage.octets(3, size: 8000))
        let hash = try TestImage.place(other, in: world.folder)
        let asker = Asker(world.broker, "g0/command")
        try await world.run {
            try await Self.begin(world, new)
            await Self.record(of: world) { $0.percent >= 10 }
            await asker.run { ask in
                let reply = await ask(#"{"id":1,"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                #expect(reply.contains(#""code":"busy""#) && reply.contains("campaign"), "\(reply)")
            }
            await Self.record(of: world) { $0.stage == .updated }
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
    }

    @Test("ends when a campaign begins with its peripheral, and says so")
    func beforeACampaign() async throws {
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device], permissions: [Self.permission])
        let (new, other) = (TestImage.octets(2, size: 8000), TestImage.octets(3, size: 150_000))
        let hash = try TestImage.place(other, in: world.folder)
        let asker = Asker(world.broker, "g0/command")
        try await world.run {
            await Self.state(of: world) { $0.contains(#""ready":true"#) }
            await asker.run { ask in
                async let reply = ask(#"{"id":1,"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                await Self.upload(of: world, atLeast: 10)
                try? await Self.begin(world, new)
                let words = await reply
                #expect(
                    words.contains(#""code":"ended""#) && words.contains("such as a campaign's, has taken its place"),
                    "\(words)"
                )
            }
            await Self.record(of: world) { $0.stage == .updated }
        }
        #expect(device.runningImage == new && device.isConfirmed)
    }

    @Test("ends with the lease, and the next owner goes on where it stopped")
    func lostLease() async throws {
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 2, sensors: 1, firmware: [device], permissions: [Self.permission])
        let new = TestImage.octets(2, size: 150_000)
        let hash = try TestImage.place(new, in: world.folder)
        let askers = (0..<2).map { Asker(world.broker, "g\($0)/command", name: "asker\($0)") }
        let update = #"{"id":1,"peripheral":"s0","op":"update","image":"\#(hash)"}"#
        try await world.run {
            var first = 0
            while let message = await world.collector.next() {
                guard message.topic.hasSuffix("/state/s0"), message.payload.contains(#""ready":true"#) else { continue }
                first = message.topic.hasPrefix("g0") ? 0 : 1
                break
            }
            let (owner, next) = (first, 1 - first)
            await askers[owner].run { ask in
                async let reply = ask(update)
                await Self.upload(of: world, gateway: owner, atLeast: 20)
                // Better reception elsewhere takes the peripheral away.
                world.air.setSignal(.dBm(-85), between: world.adapters[owner], and: world.sensors[0])
                let words = await reply
                #expect(words.contains(#""code":"ended""#) && words.contains("another gateway holds"), "\(words)")
            }
            await Self.state(of: world, gateway: next) { $0.contains(#""ready":true"#) }
            await askers[next].run { ask in #expect(await ask(update) == #"{"id":1,"ok":true}"#) }
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
        let sent = world.air.trace.compactMap { $0.sender == .central ? $0.pdu?.count : nil }.reduce(0, +)
        #expect(sent < 150_000 * 5 / 4, "\(sent)")
        #expect(world.overlaps == 0)
    }

    @Test("is answered when the gateway ends, and the peripheral keeps what it runs")
    func ending() async throws {
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device], permissions: [Self.permission])
        let new = TestImage.octets(2, size: 150_000)
        let hash = try TestImage.place(new, in: world.folder)
        let asker = Asker(world.broker, "g0/command")
        try await world.run(isSharing: false) {
            await Self.state(of: world) { $0.contains(#""ready":true"#) }
            await asker.run { ask in
                async let reply = ask(#"{"id":1,"peripheral":"s0","op":"update","image":"\#(hash)"}"#)
                await Self.upload(of: world, atLeast: 10)
                world.stop(0)
                let words = await reply
                #expect(words.contains(#""code":"ended""#) && words.contains("it is stopping"), "\(words)")
            }
            var last = ""
            await Self.news(of: world) { text in
                last = text
                return Self.isOver(text)
            }
            #expect(last.contains(#""phase":"failed""#), "\(last)")
        }
        #expect(device.runningImage == old && device.restarts == 0)
    }

    // MARK: - What is waited for

    private static func state(of world: SharedWorld, gateway: Int = 0, _ isWanted: (String) -> Bool) async {
        await message(of: world, "g\(gateway)/state/s0", isWanted)
    }

    private static func news(of world: SharedWorld, gateway: Int = 0, _ isWanted: (String) -> Bool) async {
        await message(of: world, "g\(gateway)/update/s0", isWanted)
    }

    /// Waits until so many hundredths of an update have been sent, or until it is over.
    private static func upload(of world: SharedWorld, gateway: Int = 0, atLeast percent: Int) async {
        await news(of: world, gateway: gateway) { text in
            isOver(text) || progress(text).percent.map { $0 >= percent } ?? false
        }
    }

    private static func progress(_ text: String) -> Progress {
        (try? JSONDecoder().decode(Progress.self, from: Data(text.utf8))) ?? Progress()
    }

    private static func isOver(_ text: String) -> Bool {
        progress(text).phase.map { UpdateNews.ends.contains($0) } ?? false
    }

    private struct Progress: Decodable {
        var phase: String?
        var percent: Int?
    }

    private static func message(of world: SharedWorld, _ topic: String, _ isWanted: (String) -> Bool) async {
        while let message = await world.collector.next() {
            if message.topic == topic, isWanted(message.payload) { return }
        }
    }

    /// Waits for a record of a campaign's device.
    private static func record(of world: SharedWorld, _ isWanted: (CampaignRecord) -> Bool) async {
        while let message = await world.collector.next() {
            guard message.topic.contains("/campaigns/c/devices/"),
                let record = try? JSONDecoder().decode(CampaignRecord.self, from: Data(message.payload.utf8))
            else { continue }
            if isWanted(record) { return }
        }
    }

    private static func begin(_ world: SharedWorld, _ image: [UInt8]) async throws {
        let devices = world.sensors.map { PeripheralID(rawValue: $0.address.rawValue) }
        let plan = CampaignPlan(image: try TestImage.place(image, in: world.folder), devices: devices)
        let text = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
        let words = ["-h", "127.0.0.1", "-p", "\(world.broker.port)", "-V", "5", "-q", "1", "-r"]
        let topic = ["-t", "blestreams/campaigns/c/plan", "-m", text]
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words + topic).waitForEnd() == 0)
    }
}
