import BLEDevices
import Campaigns
import Leases
import Testing

@testable import Gateway

/// An order that waits: for the end of its pause, of which the first takes half a minute, or for another campaign's.
@Suite(.timeLimit(.minutes(5))) struct CampaignPauseTests {
    private let new = TestImage.octets(2, size: 8000)
    private let other = TestImage.octets(3, size: 8000)

    @Test func `another attempt is made behind the pause`() async throws {
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new)
            try bench.synchronize("c", failures: 2)
            try await bench.pass(seconds: 55)
            #expect(bench.device.runningImage == CampaignBench.old)
            try await bench.pass(seconds: 300)
            #expect(bench.device.runningImage == new && bench.device.isConfirmed)
            let record = try #require(bench.record("c"))
            #expect(record.stage == .updated && record.failures == 2)
        }
    }

    @Test func `no further attempt is made when the campaign was removed in the pause`() async throws {
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new)
            try bench.synchronize("c", failures: 2)
            try await bench.pass(seconds: 10)
            let record = try #require(bench.record("c"))
            #expect(record.epoch.gateway == bench.driver.leases.gateway)
            bench.remove("c")
            try await bench.pass(seconds: 600)
            #expect(bench.device.runningImage == CampaignBench.old && bench.device.restarts == 0)
        }
    }

    @Test func `a device is rolled back, and not updated, when the campaign was stopped in the pause`() async throws {
        try await CampaignBench.run { [new] bench in
            try bench.plan("c", new)
            try bench.synchronize("c", failures: 1)
            try await bench.pass(seconds: 10)
            try bench.plan("c", new, isStopped: true)
            try await bench.pass(seconds: 600)
            let record = try #require(bench.record("c"))
            #expect(record.stage == .rolledBack && record.failures == 1)
            #expect(bench.device.runningImage == CampaignBench.old && bench.device.restarts == 0)
        }
    }

    @Test func `what waits behind the order of another campaign is not done when its own was removed`() async throws {
        try await CampaignBench.run { [new, other] bench in
            try bench.plan("c", new)
            try bench.synchronize("c", failures: 1)
            try await bench.pass(seconds: 10)
            try bench.plan("d", other)
            try bench.synchronize("d")
            try await bench.pass(seconds: 5)
            bench.remove("d")
            try await bench.pass(seconds: 600)
            #expect(bench.device.runningImage == new && bench.device.restarts == 1)
        }
    }

    @Test func `a campaign that was removed in a long pause does not hold up another one`() async throws {
        try await CampaignBench.run { [new, other] bench in
            try bench.plan("c", new)
            // The next attempt is 32 minutes away.
            try bench.synchronize("c", failures: 7)
            try await bench.pass(seconds: 10)
            try bench.plan("d", other)
            try bench.synchronize("d")
            try await bench.pass(seconds: 60)
            #expect(bench.device.runningImage == CampaignBench.old)
            bench.remove("c")
            try await bench.pass(seconds: 300)
            #expect(bench.device.runningImage == other && bench.device.restarts == 1)
        }
    }
}
