import BLEDevices
import BLESimulator
import BLEStreams
import Campaigns
import Foundation
import Leases
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "An update campaign",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(5))
)
struct CampaignTests {
    @Test("updates the canary first, then the others, by the gateways that hold them")
    func waves() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 8000))
        let devices = (0..<4).map { _ in MCUmgrFirmwareReceiver(running: old) }
        let world = try await SharedWorld(gateways: 2, sensors: 4, firmware: devices)
        try await world.run {
            try await begin(world, new) { _ in }
            var seen = Records()
            await seen.take(from: world) { $0.settled.count == 4 }
            #expect(seen.settled.values.allSatisfy { $0.stage == .updated })
            #expect(seen.first == [PeripheralID(rawValue: world.sensors[0].address.rawValue)])
            while let message = await world.collector.next() {
                if message.topic.hasSuffix("/campaign/c"), message.payload.contains(#""over":true"#) { break }
            }
        }
        for device in devices { #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1) }
        #expect(world.overlaps == 0)
    }

    @Test("goes on with an upload that another gateway began")
    func handover() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 150_000))
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 2, sensors: 1, firmware: [device])
        try await world.run {
            try await begin(world, new) { _ in }
            var seen = Records()
            await seen.take(from: world) { $0.last.contains { $0.value.percent >= 20 } }
            let first = try #require(seen.last.values.first?.epoch.gateway)
            let owner = world.adapters.firstIndex { $0.activity.links.contains(world.sensors[0].address) }
            world.stop(try #require(owner))
            await seen.take(from: world) { $0.settled.count == 1 }
            #expect(seen.settled.values.first?.stage == .updated)
            #expect(seen.settled.values.first?.epoch.gateway != first)
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
        // Together they sent the image once, and a little twice.
        let sent = world.air.trace.compactMap { $0.sender == .central ? $0.pdu?.count : nil }.reduce(0, +)
        #expect(sent < 150_000 * 5 / 4, "\(sent)")
        #expect(world.overlaps == 0)
    }

    @Test("stops with a canary that can't be updated, and leaves the others alone")
    func stops() async throws {
        let (old, new) = (TestImage.octets(1, size: 1000), TestImage.octets(2, size: 8000))
        let devices = (0..<3).map { MCUmgrFirmwareReceiver(running: old, capacity: $0 == 0 ? 4000 : 1 << 20) }
        let world = try await SharedWorld(gateways: 2, sensors: 3, firmware: devices)
        try await world.run {
            try await begin(world, new) { $0.attempts = 2 }
            var seen = Records()
            await seen.take(from: world) { $0.settled.count == 1 }
            #expect(seen.settled.values.first?.stage == .rolledBack)
            #expect(seen.settled.values.first?.failures == 2)
            while let message = await world.collector.next() {
                if message.topic.hasSuffix("/campaign/c"), message.payload.contains(#""over":true"#) { break }
            }
            #expect(seen.last.count == 1, "another device has begun")
        }
        for device in devices { #expect(device.runningImage == old && device.isConfirmed) }
    }

    @Test("takes an image from the broker if it isn't in the folder, and no other in its place")
    func imageOverTheBroker() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 8000))
        let device = MCUmgrFirmwareReceiver(running: old)
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device])
        let hash = try FirmwareImage(new).sha256.hex
        try await world.run {
            try await begin(world, hash) { _ in }
            try await publish(world, TestImage.octets(3, size: 8000), as: hash)
            try await publish(world, new, as: hash)
            var seen = Records()
            await seen.take(from: world) { $0.settled.count == 1 }
            #expect(seen.settled.values.first?.stage == .updated)
            let kept = FileManager.default.contents(atPath: "\(world.folder)/\(hash).bin")
            #expect(kept.map(Array.init) == new)
        }
        #expect(device.runningImage == new && device.isConfirmed && device.restarts == 1)
    }

    @Test("begins nothing of a campaign whose plan was removed while the broker was away")
    func removedMeanwhile() async throws {
        let (old, new) = (TestImage.octets(1, size: 2000), TestImage.octets(2, size: 8000))
        let devices = (0..<2).map { _ in MCUmgrFirmwareReceiver(running: old) }
        let world = try await SharedWorld(gateways: 1, sensors: 2, firmware: devices)
        let hash = try FirmwareImage(new).sha256.hex
        try await world.run {
            // It waits for its image.
            try await begin(world, hash, of: [0])
            while let message = await world.collector.next(), message.topic != "g0/campaign/c" {}
            world.relays[0].isFrozen = true
            try await publish(world, [], to: "campaigns/c/plan")
            try await begin(world, hash, of: [1], as: "d")
            try await publish(world, new, as: hash)
            world.relays[0].cut()
            world.relays[0].isFrozen = false
            var seen = Records()
            await seen.take(from: world) { $0.settled.count == 1 }
            #expect(seen.last.keys.map(\.rawValue) == [world.sensors[1].address.rawValue])
        }
        #expect(devices[0].runningImage == old && devices[0].restarts == 0)
        #expect(devices[1].runningImage == new)
    }

    @Test("is no longer told of under the prefix that its gateway had before")
    func otherPrefix() async throws {
        let device = MCUmgrFirmwareReceiver(running: TestImage.octets(1, size: 2000))
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device])
        let hash = try FirmwareImage(TestImage.octets(2, size: 8000)).sha256.hex
        try await world.run {
            // It waits for its image.
            try await begin(world, hash)
            while let message = await world.collector.next(), message.topic != "g0/campaign/c" {}
            var configuration = world.configuration(0)
            configuration.prefix = "other"
            world.reload(0, configuration)
            var last = ""
            while let message = await world.collector.next(), message.topic != "other/campaign/c" {
                if message.topic == "g0/campaign/c" { last = message.payload.isEmpty ? "gone" : message.payload }
            }
            #expect(last == "gone")
        }
    }

    // MARK: - What is needed

    private func publish(_ world: SharedWorld, _ image: [UInt8], as hash: String) async throws {
        try await publish(world, image, to: "images/\(hash)")
    }

    /// Publishes a message that the broker retains; an empty one removes the former.
    private func publish(_ world: SharedWorld, _ payload: [UInt8], to topic: String) async throws {
        let file = "\(world.folder)/published"
        try Data(payload).write(to: URL(fileURLWithPath: file))
        let words = ["-h", "127.0.0.1", "-p", "\(world.broker.port)", "-V", "5", "-q", "1", "-r"]
        let message = ["-t", "blestreams/\(topic)"] + (payload.isEmpty ? ["-n"] : ["-f", file])
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words + message).waitForEnd() == 0)
    }

    /// Puts the image into the folder, and publishes the plan.
    private func begin(_ world: SharedWorld, _ image: [UInt8], _ change: (inout CampaignPlan) -> Void) async throws {
        try await begin(world, try TestImage.place(image, in: world.folder), change)
    }

    /// Publishes the plan for an image.
    ///
    /// - Parameters:
    ///   - sensors: the devices, by their numbers; `nil`: all.
    ///   - name: that of the campaign.
    private func begin(
        _ world: SharedWorld,
        _ hash: String,
        of sensors: [Int]? = nil,
        as name: String = "c",
        _ change: (inout CampaignPlan) -> Void = { _ in }
    ) async throws {
        let devices = (sensors ?? Array(world.sensors.indices)).map { world.sensors[$0].address.rawValue }
        var plan = CampaignPlan(image: hash, devices: devices.map { PeripheralID(rawValue: $0) })
        change(&plan)
        try await publish(world, Array(try JSONEncoder().encode(plan)), to: "campaigns/\(name)/plan")
    }
}

/// The records of a campaign's devices.
private struct Records {
    private(set) var last: [PeripheralID: CampaignRecord] = [:]
    /// The devices that were settled before another one had begun.
    private(set) var first: Set<PeripheralID> = []
    private var begun: Set<PeripheralID> = []

    var settled: [PeripheralID: CampaignRecord] { last.filter(\.value.isSettled) }

    mutating func take(from world: SharedWorld, until isSo: (Records) -> Bool) async {
        while !isSo(self), let message = await world.collector.next() {
            let parts = message.topic.split(separator: "/")
            guard parts.count == 5, parts[1] == "campaigns", let device = PeripheralID(String(parts[4])),
                let record = try? JSONDecoder().decode(CampaignRecord.self, from: Data(message.payload.utf8))
            else { continue }
            if let known = last[device], !record.isNewer(than: known) { continue }
            begun.insert(device)
            last[device] = record
            if record.isSettled, begun.count == 1 { first.insert(device) }
        }
    }
}
