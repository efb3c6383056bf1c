import BLEDevices
import Campaigns
import Testing

@testable import Gateway

/// A record that the broker refuses, until its access rules are corrected.
@Suite(.timeLimit(.minutes(5))) struct CampaignRefusalTests {
    private let new = TestImage.octets(2, size: 8000)

    @Test func `a device waits for its record, and is updated when the broker takes it`() async throws {
        try await CampaignBench.run { [new] bench in
            bench.refuseRecords(true)
            try bench.plan("c", new)
            try bench.synchronize("c")
            try await bench.pass(seconds: 100)
            #expect(bench.device.runningImage == CampaignBench.old && bench.device.restarts == 0)
            bench.refuseRecords(false)
            try await bench.pass(seconds: 300)
            #expect(bench.device.runningImage == new && bench.record("c")?.stage == .updated)
        }
    }
}
