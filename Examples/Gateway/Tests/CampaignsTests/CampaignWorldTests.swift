import CampaignWorld
import Campaigns
import Foundation
import Testing

@Suite("Campaigns in virtual time")
struct CampaignWorldTests {
    @Test("A thousand devices, 1 % link loss, crashing gateways: all updated or rolled back, none in between")
    func thousand() {
        let result = CampaignWorld(CampaignWorldPlan(seed: 1)).run()
        #expect(result.findings.isEmpty, "\(result.findings.joined(separator: "\n"))")
        #expect(result.updated + result.rolledBack == 1000 && result.between == 0)
        #expect(result.rolledBack > 0 && result.crashes > 10 && result.losses > 100 && result.handedOver > 0)
        #expect(!result.isStopped)
        print(result)
    }

    @Test("Small campaigns with all faults keep every invariant", arguments: 0..<8)
    func small(_ part: Int) {
        let seeds = ProcessInfo.processInfo.environment["CAMPAIGN_SEEDS"].flatMap(Int.init) ?? 40
        for seed in part * seeds / 8..<(part + 1) * seeds / 8 {
            var plan = CampaignWorldPlan(seed: UInt64(seed), devices: 10 + seed % 90, gateways: 2 + seed % 6)
            (plan.loss, plan.crashes, plan.bad) = (10 + seed % 50, 60_000, seed % 3 * 20)
            let result = CampaignWorld(plan).run()
            #expect(result.findings.isEmpty, "seed \(seed): \(result.findings.joined(separator: "\n"))")
            #expect(result.between == 0, "seed \(seed)")
        }
    }

    @Test("Devices that are let go and held again by the same epoch go on", arguments: 0..<8)
    func reloads(_ number: Int) {
        var plan = CampaignWorldPlan(seed: UInt64(number), devices: 20, gateways: 3)
        (plan.bad, plan.reloads) = (20, 20_000)
        // A gateway that never connects anew never learns what it has ignored.
        let isAlone = number < 4
        plan.crashes = isAlone ? 1 << 40 : 60_000
        if isAlone { plan.stalls = 1 << 40 }
        let result = CampaignWorld(plan).run()
        #expect(result.findings.isEmpty, "\(result.findings.joined(separator: "\n"))")
        #expect(result.between == 0 && result.reloads > 10)
        #expect((result.crashes == 0) == isAlone)
    }

    @Test("An image that doesn't work stops the campaign with the canaries")
    func badImage() {
        var plan = CampaignWorldPlan(seed: 3)
        plan.bad = 1000
        let result = CampaignWorld(plan).run()
        #expect(result.findings.isEmpty, "\(result.findings.joined(separator: "\n"))")
        #expect(result.isStopped && result.updated == 0)
        #expect(result.rolledBack <= 10 && result.untouched >= 990)
    }

    @Test("Too many failures stop the campaign in the wave where they happen")
    func stops() {
        var plan = CampaignWorldPlan(seed: 4)
        (plan.bad, plan.failures) = (200, 3)
        let result = CampaignWorld(plan).run()
        #expect(result.findings.isEmpty, "\(result.findings.joined(separator: "\n"))")
        #expect(result.isStopped && result.untouched > 800 && result.rolledBack > 3)
    }

    @Test("A rule that is left out is found", arguments: ["waves", "epochs", "rolling back"])
    func planted(_ rule: String) {
        let isFound = (0..<40).contains { seed in
            var plan = CampaignWorldPlan(seed: UInt64(seed), devices: 60, gateways: 4)
            (plan.crashes, plan.bad, plan.stalls) = (60_000, 60, 50)
            switch rule {
            case "waves": plan.rules.waitsForWaves = false
            case "epochs": plan.rules.comparesEpochs = false
            default: plan.rules.rollsBack = false
            }
            return !CampaignWorld(plan).run().findings.isEmpty
        }
        #expect(isFound)
    }

    @Test("The same seed gives the same campaign")
    func deterministic() {
        let plan = CampaignWorldPlan(seed: 9, devices: 100, gateways: 5)
        let (first, second) = (CampaignWorld(plan).run(), CampaignWorld(plan).run())
        #expect("\(first)" == "\(second)")
    }
}
