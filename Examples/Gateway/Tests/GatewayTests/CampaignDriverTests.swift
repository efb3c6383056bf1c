import Campaigns
import Foundation
import Leases
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite("The driver of the campaigns")
final class CampaignDriverTests: Sendable {
    private let devices = (1...3).map { PeripheralID(rawValue: $0) }
    private let image = String(repeating: "0a", count: 32)
    private let reports = Mutex<[String]>([])

    private func plan(_ image: String, _ devices: [PeripheralID]) throws -> [UInt8] {
        Array(try JSONEncoder().encode(CampaignPlan(image: image, devices: devices)))
    }

    private func record(_ number: UInt64, of gateway: GatewayID) throws -> [UInt8] {
        let epoch = Epoch(number: number, gateway: gateway)
        return Array(try JSONEncoder().encode(CampaignRecord(epoch: epoch, revision: 1, stage: .updated)))
    }

    private func driver() throws -> (CampaignDriver, Outbox) {
        let folder = try temporaryFolder("campaigns")
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let report: @Sendable (String) -> Void = { [self] line in reports.withLock { $0.append(line) } }
        let outbox = Outbox(spool, prefix: "p", report: report)
        let publisher = Publisher(spool, prefix: "p", report: report)
        publisher.use(outbox)
        let leases = try LeaseDriver(.init(), spool: "\(folder)/spool", report: report)
        return (CampaignDriver(.init(images: folder), leases, publisher), outbox)
    }

    private func messages(_ next: () -> MQTTOutgoing?) -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        while let item = next() { messages.append(item.message) }
        return messages
    }

    @Test("a campaign that is removed takes its records with it, and what this gateway said of it")
    func removed() throws {
        let (driver, outbox) = try driver()
        outbox.connected()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        let other = GatewayID(rawValue: 7)
        for device in devices[..<2] {
            let octets = try record(1, of: device == devices[0] ? driver.leases.gateway : other)
            driver.received(MQTTMessage("blestreams/campaigns/c/devices/\(device)", octets))
        }
        #expect(messages(outbox.next).contains { $0.topic == "p/campaign/c" && !$0.payload.isEmpty })
        _ = messages(driver.next)
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", []))
        let gone = messages(driver.next)
        #expect(Set(gone.map(\.topic)) == Set(devices[..<2].map { "blestreams/campaigns/c/devices/\($0)" }))
        #expect(gone.allSatisfy { $0.isRetained && $0.payload.isEmpty })
        #expect(messages(outbox.next).contains(MQTTMessage("p/campaign/c", [], isRetained: true)))
    }

    @Test("what an earlier run said of a campaign goes if its plan was removed meanwhile, and no other summary does")
    func former() throws {
        let (driver, _) = try driver()
        let broker = MQTTSettings(host: "localhost", clientID: "g")
        #expect(driver.settings(broker).subscriptions.last == "p/campaign/+", "behind the plans")
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices), isRetained: true))
        let summary = Array(#"{"devices":3,"updating":1,"over":false}"#.utf8)
        for name in ["c", "gone"] {
            driver.received(MQTTMessage("p/campaign/\(name)", summary, isRetained: true))
        }
        #expect(messages(driver.next) == [MQTTMessage("p/campaign/gone", [], isRetained: true)])
        // The removal comes back, and so does what is said of campaigns that begin.
        driver.received(MQTTMessage("p/campaign/gone", []))
        driver.received(MQTTMessage("p/campaign/later", summary))
        #expect(messages(driver.next).isEmpty)
    }

    @Test("what this gateway said of a campaign goes when it begins again elsewhere, and doesn't come back")
    func elsewhere() throws {
        let (driver, outbox) = try driver()
        outbox.connected()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        func receive(_ device: PeripheralID) throws {
            let octets = try record(1, of: GatewayID(rawValue: 7))
            driver.received(MQTTMessage("blestreams/campaigns/c/devices/\(device)", octets))
        }
        try receive(devices[0])
        #expect(messages(outbox.next).contains { $0.topic == "p/campaign/c" && !$0.payload.isEmpty })
        driver.removeSummaries()
        try receive(devices[1])
        #expect(messages(outbox.next) == [MQTTMessage("p/campaign/c", [], isRetained: true)])
    }

    @Test("a plan with other devices or another image is no change of the campaign, and the operator is told")
    func changed() throws {
        let (driver, _) = try driver()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        let before = reports.withLock { $0.count }
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, Array(devices.dropLast()))))
        #expect(reports.withLock { $0.last }?.contains("another name") == true)
        #expect(reports.withLock { $0.count } == before + 1)
        #expect(driver.state.withLock { $0.campaigns["c"]?.machine.plan.devices } == devices)
    }

    @Test("a campaign that was replaced while there was no connection is the new one")
    func replaced() throws {
        let (driver, _) = try driver()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        driver.interrupted()
        driver.connected()
        let next = String(repeating: "0b", count: 32)
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(next, devices), isRetained: true))
        #expect(driver.state.withLock { $0.campaigns["c"]?.machine.plan.image } == next)
    }

    @Test func `a plan that can't be used is no removal of its campaign, on a later connection neither`() throws {
        let (driver, _) = try driver()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        driver.received(
            MQTTMessage("blestreams/campaigns/c/devices/\(devices[0])", try record(1, of: GatewayID(rawValue: 7)))
        )
        driver.interrupted()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", Array("{}".utf8), isRetained: true))
        driver.subscribed(to: "blestreams/campaigns/c/devices/+")
        for message in messages(driver.next) { driver.received(message) }
        #expect(driver.state.withLock { $0.campaigns["c"]?.machine.plan.devices } == devices)
        #expect(messages(driver.next).isEmpty, "no record is removed")
        #expect(reports.withLock { $0.last }?.contains("'image' is missing") == true)
    }

    @Test("a device that was let go meanwhile gets no order, which nobody would carry out")
    func letGo() throws {
        let (driver, _) = try driver()
        driver.connected()
        driver.received(MQTTMessage("blestreams/campaigns/c/plan", try plan(image, devices)))
        _ = messages(driver.next)
        driver.give(.synchronized, to: "c")
        driver.give(.held(devices[0], Epoch(number: 1, gateway: driver.leases.gateway)), to: "c")
        #expect(messages(driver.next).isEmpty)
        #expect(driver.state.withLock { $0.campaigns["c"]?.machine.counts.updating } == 0)
    }

    @Test("a campaign for which there was no place is taken part in when another one is removed")
    func place() throws {
        let (driver, _) = try driver()
        driver.connected()
        func receive(_ name: String, _ payload: [UInt8]) -> [MQTTSubscriptionChange] {
            driver.received(MQTTMessage("blestreams/campaigns/\(name)/plan", payload))
            var changes: [MQTTSubscriptionChange] = []
            while let change = driver.nextChange() { changes.append(change) }
            return changes
        }
        let plans = MQTTSubscriptionChange.subscribe("blestreams/campaigns/+/plan")
        let plan = try plan(image, devices)
        for number in 0..<CampaignDriver.limit { _ = receive("c\(number)", plan) }
        for name in ["late", "later"] { #expect(!receive(name, plan).contains(plans)) }
        #expect(reports.withLock { $0.last }?.contains("Remove the plan of one.") == true)
        #expect(!receive("later", []).contains(plans), "it had no place")
        // The broker sends all of them again.
        #expect(receive("c3", []).contains(plans))
        _ = receive("late", plan)
        #expect(driver.state.withLock { $0.campaigns["late"] != nil && $0.campaigns.count == CampaignDriver.limit })
        #expect(!receive("late", []).contains(plans), "no other one waits")
    }

    @Test("an image that several campaigns wait for is asked for once on a connection, whatever plans come")
    func askedForOnce() throws {
        let (driver, _) = try driver()
        for _ in 0..<2 {
            driver.connected()
            for name in ["c", "d", "c"] {
                driver.received(MQTTMessage("blestreams/campaigns/\(name)/plan", try plan(image, devices)))
            }
            var changes: [MQTTSubscriptionChange] = []
            while let change = driver.nextChange() { changes.append(change) }
            #expect(changes.count { $0 == .subscribe("blestreams/images/\(image)") } == 1)
            driver.interrupted()
        }
    }

    @Test("an image is asked for again when a campaign that needs it comes after the last such one has ended")
    func askedForAgain() throws {
        let (driver, _) = try driver()
        driver.connected()
        var changes: [MQTTSubscriptionChange] = []
        for payload in [try plan(image, devices), [], try plan(image, devices)] {
            driver.received(MQTTMessage("blestreams/campaigns/c/plan", payload))
            while let change = driver.nextChange() { changes.append(change) }
        }
        let topic = "blestreams/images/\(image)"
        #expect(
            changes.filter { $0 == .subscribe(topic) || $0 == .unsubscribe(topic) }
                == [.subscribe(topic), .unsubscribe(topic), .subscribe(topic)]
        )
    }
}
