import Campaigns
import Foundation
import Leases
import Testing

@Suite("The machine of a campaign")
struct CampaignMachineTests {
    private let devices = (1...5).map { PeripheralID(rawValue: $0) }
    private var plan: CampaignPlan {
        CampaignPlan(image: String(repeating: "0a", count: 32), devices: devices, canaries: 1, wave: 2, failures: 1)
    }

    private func epoch(_ number: UInt64, _ gateway: UInt64 = 1) -> Epoch {
        Epoch(number: number, gateway: GatewayID(rawValue: gateway))
    }

    private func machine(holding: [Int]) -> CampaignMachine {
        var machine = CampaignMachine(plan, limit: 10)
        for number in holding { _ = machine.handle(.held(devices[number], epoch(1))) }
        return machine
    }

    /// The broker hands out what the gateway has published.
    private func confirm(_ effects: CampaignEffects, _ machine: inout CampaignMachine) -> CampaignEffects {
        var all = CampaignEffects()
        for publication in effects.publish {
            all.begin += machine.handle(.record(publication.device, publication.record)).begin
        }
        return all
    }

    @Test("Nothing begins before the broker's records have come, and then only the canary")
    func canary() {
        var machine = machine(holding: [0, 1, 2])
        let effects = machine.handle(.synchronized)
        #expect(effects.publish.map(\.record.stage) == [.updating] && effects.publish.map(\.device) == [devices[0]])
        #expect(effects.begin.isEmpty, "the broker doesn't have the record")
        #expect(confirm(effects, &machine).begin.map(\.order) == [.update])
    }

    @Test("A wave begins when those before it are settled, whoever updates them")
    func waves() {
        var machine = machine(holding: [1, 2, 3])
        #expect(machine.handle(.synchronized).begin.isEmpty)
        let done = CampaignRecord(epoch: epoch(4, 2), revision: 2, stage: .updated)
        let second = machine.handle(.record(devices[0], done))
        #expect(confirm(second, &machine).begin.map(\.device) == [devices[1], devices[2]])
        _ = machine.handle(.ended(devices[1], .updated))
        let third = machine.handle(.ended(devices[2], .updated))
        #expect(third.publish.map(\.device) == [devices[2], devices[3]])
    }

    @Test("A record of another image, of an earlier campaign of the same name, doesn't count")
    func otherImage() throws {
        var machine = machine(holding: [0])
        let text = #"{"epoch":9,"gateway":"000000000002","revision":2,"stage":"updated","image":"\#(plan.image)"}"#
        let own = try JSONDecoder().decode(CampaignRecord.self, from: Data(text.utf8))
        let other = try JSONDecoder()
            .decode(CampaignRecord.self, from: Data(text.replacing("0a0a", with: "0b0b").utf8))
        _ = machine.handle(.record(devices[0], other))
        #expect(machine.counts.updated == 0)
        #expect(machine.handle(.synchronized).publish.map(\.device) == [devices[0]])
        _ = machine.handle(.record(devices[1], own))
        #expect(machine.counts.updated == 1)
    }

    @Test("A canary that fails stops the campaign; another device may fail")
    func stops() {
        var machine = machine(holding: [1])
        _ = machine.handle(.synchronized)
        let failed = CampaignRecord(epoch: epoch(4, 2), revision: 2, stage: .rolledBack, failures: 3)
        #expect(machine.handle(.record(devices[0], failed)).begin.isEmpty)
        #expect(machine.isStopped && machine.counts.isOver)
    }

    @Test("A device that fails too often is rolled back, until that has succeeded")
    func rollsBack() {
        var machine = machine(holding: [0])
        _ = confirm(machine.handle(.synchronized), &machine)
        #expect(machine.handle(.ended(devices[0], .failed("a"))).begin.map(\.order) == [.update])
        #expect(machine.handle(.ended(devices[0], .failed("b"))).begin.map(\.order) == [.update])
        #expect(machine.handle(.ended(devices[0], .failed("c"))).begin.map(\.order) == [.rollBack])
        #expect(machine.handle(.ended(devices[0], .failed("d"))).begin.map(\.order) == [.rollBack])
        let effects = machine.handle(.ended(devices[0], .rolledBack))
        #expect(effects.publish.map(\.record.stage) == [.rolledBack] && effects.begin.isEmpty)
        #expect(effects.publish.first?.record.failures == 3)
    }

    @Test("What another gateway began goes on, by the new owner's epoch")
    func goesOn() {
        var machine = machine(holding: [])
        let begun = CampaignRecord(epoch: epoch(3, 2), revision: 9, stage: .updating, percent: 40)
        _ = machine.handle(.record(devices[0], begun))
        _ = machine.handle(.synchronized)
        let effects = machine.handle(.held(devices[0], epoch(4)))
        #expect(effects.publish.map(\.record.percent) == [40] && effects.publish.first?.record.epoch == epoch(4))
        #expect(confirm(effects, &machine).begin.map(\.order) == [.update])
        // A late record of the earlier owner is in the place of this one's.
        let late = CampaignRecord(epoch: epoch(3, 2), revision: 10, stage: .updating, percent: 50)
        #expect(machine.handle(.record(devices[0], late)).publish.first?.record.epoch == epoch(4))
    }

    @Test("An operator's stop rolls back what has failed, and lets nothing begin")
    func operatorStops() {
        var machine = machine(holding: [0, 1])
        _ = confirm(machine.handle(.synchronized), &machine)
        var stopped = plan
        stopped.isStopped = true
        #expect(machine.handle(.plan(stopped)).begin.isEmpty)
        #expect(machine.handle(.ended(devices[0], .failed("a"))).begin.map(\.order) == [.rollBack])
        #expect(machine.handle(.ended(devices[0], .rolledBack)).begin.isEmpty)
        #expect(machine.counts.isOver)
    }

    @Test("An order that has waited is to roll back if the campaign has stopped, and none if the device isn't held")
    func due() {
        var machine = machine(holding: [0])
        let before = machine.handle(.synchronized)
        let early = machine.due(devices[0])
        #expect(early == nil, "the broker doesn't have the record")
        #expect(confirm(before, &machine).begin.map(\.order) == [.update])
        let next = machine.due(devices[0])
        #expect(next == .update)
        var stopped = plan
        stopped.isStopped = true
        _ = machine.handle(.plan(stopped))
        let last = machine.due(devices[0])
        #expect(last == .rollBack)
        // It was to roll back, so the failure is no failed attempt to update.
        let failed = machine.handle(.ended(devices[0], .failed("a")))
        #expect(failed.publish.map(\.record.failures) == [0])
        _ = machine.handle(.lost(devices[0]))
        let none = machine.due(devices[0])
        #expect(none == nil)
    }

    @Test("What the broker may not have is published again when it is back")
    func republishes() throws {
        var machine = machine(holding: [0])
        let first = try #require(machine.handle(.synchronized).publish.first)
        _ = machine.handle(.record(first.device, first.record))
        _ = machine.handle(.disconnected)
        let done = try #require(machine.handle(.ended(devices[0], .updated)).publish.first)
        _ = machine.handle(.lost(devices[0]))
        // The broker retains the record before.
        _ = machine.handle(.record(first.device, first.record))
        #expect(machine.handle(.synchronized).publish == [done])
        _ = machine.handle(.record(done.device, done.record))
        #expect(machine.handle(.synchronized).publish.isEmpty)
    }

    @Test("A device that is let go and held again by the same epoch goes on behind the revisions that others know")
    func heldAgain() throws {
        var machine = machine(holding: [0])
        _ = confirm(machine.handle(.synchronized), &machine)
        let last = try #require(machine.handle(.progress(devices[0], 40)).publish.last?.record)
        _ = machine.handle(.lost(devices[0]))
        let again = machine.handle(.held(devices[0], last.epoch))
        #expect(again.publish.map(\.record.percent) == [40])
        #expect(again.publish.allSatisfy { $0.record.isNewer(than: last) })
        // The former record comes back now; the order waits for the new one.
        let former = machine.handle(.record(devices[0], last))
        #expect(former.begin.isEmpty)
        #expect(confirm(again, &machine).begin.map(\.order) == [.update])
    }

    @Test("A gateway whose image can't be read begins nothing else, and takes part again when the image is there")
    func imageMissing() {
        var machine = CampaignMachine(plan, limit: 1)
        let done = CampaignRecord(epoch: epoch(4, 2), revision: 2, stage: .updated)
        _ = machine.handle(.record(devices[0], done))
        for number in [1, 2] { _ = machine.handle(.held(devices[number], epoch(1))) }
        let first = machine.handle(.synchronized)
        #expect(confirm(first, &machine).begin.map(\.device) == [devices[1]])
        #expect(machine.handle(.imageMissing(devices[1])) == CampaignEffects())
        let again = machine.handle(.held(devices[1], epoch(1)))
        #expect(confirm(again, &machine).begin.map(\.device) == [devices[1]])
        _ = machine.handle(.held(devices[2], epoch(1)))
        let next = machine.handle(.ended(devices[1], .updated))
        #expect(confirm(next, &machine).begin.map(\.device) == [devices[2]])
    }

    @Test("A record of its own epoch that a gateway only finds on the broker is older than what it publishes")
    func foundAgain() {
        var machine = machine(holding: [0])
        let found = CampaignRecord(epoch: epoch(1), revision: 9, stage: .updating, percent: 40)
        _ = machine.handle(.record(devices[0], found))
        let effects = machine.handle(.synchronized)
        #expect(effects.publish.map(\.record.revision) == [10])
        #expect(confirm(effects, &machine).begin.map(\.order) == [.update])
    }

    @Test("Plans and records are written and read as CAMPAIGNS.md says")
    func coding() throws {
        let text = #"{"image":"\#(String(repeating: "0A", count: 32))","devices":["C1:00:00:00:00:01","C10000000002"]}"#
        let plan = try JSONDecoder().decode(CampaignPlan.self, from: Data(text.utf8))
        #expect(plan.isUsable && plan.devices.count == 2 && plan.wave == 10 && plan.attempts == 3)
        #expect(try JSONDecoder().decode(CampaignPlan.self, from: JSONEncoder().encode(plan)) == plan)
        let record = CampaignRecord(epoch: epoch(7), revision: 2, stage: .rolledBack, failures: 1, reason: "x")
        #expect(try JSONDecoder().decode(CampaignRecord.self, from: JSONEncoder().encode(record)) == record)
        var twice = plan
        twice.devices[1] = twice.devices[0]
        #expect(!twice.isUsable)
        let wrong = #"{"epoch":0,"gateway":"000000000001","revision":1,"stage":"updated"}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(CampaignRecord.self, from: Data(wrong.utf8)) }
    }
}
