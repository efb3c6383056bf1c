import BLEDevices
import Campaigns
import Foundation
import MQTT
import TestBroker
import Testing

@testable import Gateway

/// An image that a gateway doesn't have, or has and can't read: no device has to do with that.
@Suite(.timeLimit(.minutes(5))) struct CampaignImageTests {
    private let new = TestImage.octets(2, size: 8000)

    @Test func `a device is not blamed for an image that can't be read any more`() async throws {
        let topic = "blestreams/images/\(try FirmwareImage(new).sha256.hex)"
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new)
            try bench.empty(new)
            _ = bench.changes()
            try bench.synchronize("c")
            try await bench.pass(seconds: 600)
            let waiting = try #require(bench.record("c"))
            #expect(waiting.stage == .updating && waiting.failures == 0)
            #expect(waiting.revision == 1, "nothing has changed for the others")
            #expect(bench.changes() == [.subscribe(topic)])
            try bench.place(new)
            try await bench.pass(seconds: 300)
            #expect(bench.device.runningImage == new && bench.device.isConfirmed)
            let done = try #require(bench.record("c"))
            #expect(done.stage == .updated && done.failures == 0)
            #expect(bench.changes() == [.unsubscribe(topic)])
        }
    }

    @Test func `an image that is copied to the folder behind the plan is found there`() async throws {
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new, hasImage: false)
            try bench.synchronize("c")
            try await bench.pass(seconds: 100)
            #expect(bench.record("c") == nil)
            try bench.place(new)
            try await bench.pass(seconds: 300)
            #expect(bench.device.runningImage == new && bench.record("c")?.stage == .updated)
        }
    }

    @Test func `an image of the broker's for which the disk has no room is asked for again`() async throws {
        let hash = try FirmwareImage(new).sha256.hex
        let topic = "blestreams/images/\(hash)"
        try await CampaignBench.run { [new] bench in
            func come(isDiskFull: Bool) throws {
                let path = "\(bench.driver.settings.images)/\(hash).bin.new"
                if isDiskFull {
                    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
                }
                bench.driver.received(MQTTMessage(topic, new, isRetained: true))
            }
            try bench.plan("c", new, hasImage: false)
            try bench.synchronize("c")
            _ = bench.changes()
            try come(isDiskFull: true)
            // The driver looks for images each half a minute.
            try await bench.pass(seconds: 35)
            #expect(bench.changes() == [.subscribe(topic)])
            try come(isDiskFull: true)
            try await bench.pass(seconds: 40)
            #expect(bench.changes().isEmpty, "it is large, so the pauses grow")
            try await bench.pass(seconds: 30)
            #expect(bench.changes() == [.subscribe(topic)])
            try come(isDiskFull: false)
            try await bench.pass(seconds: 300)
            #expect(bench.changes() == [.unsubscribe(topic)])
            #expect(bench.device.runningImage == new && bench.record("c")?.stage == .updated)
        }
    }

    @Test func `a plan that stops its campaign begins nothing, even if the image is there by then`() async throws {
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new, hasImage: false)
            try bench.synchronize("c")
            // Less than the time after which the driver looks for the image again.
            try await bench.pass(seconds: 10)
            try bench.plan("c", new, isStopped: true)
            try await bench.pass(seconds: 300)
            #expect(bench.record("c") == nil)
            #expect(bench.device.runningImage == CampaignBench.old && bench.device.restarts == 0)
        }
    }

    @Test func `an empty file, or a folder in its place, is an error of the image`() throws {
        let folder = try temporaryFolder("images")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let hashes = [String(repeating: "0", count: 64), String(repeating: "1", count: 64)]
        try Data().write(to: URL(fileURLWithPath: "\(folder)/\(hashes[0]).bin"))
        try FileManager.default.createDirectory(atPath: "\(folder)/\(hashes[1]).bin", withIntermediateDirectories: true)
        for (hash, cause) in zip(hashes, ["it is empty", "not a regular file"]) {
            let error = #expect(throws: ImageFolder.ImageError.self) { try ImageFolder(folder: folder).bootImage(hash) }
            #expect(error?.cause.contains("\(folder)/\(hash).bin") == true)
            #expect(error?.cause.contains(cause) == true && error?.remedy.isEmpty == false)
        }
    }
}
