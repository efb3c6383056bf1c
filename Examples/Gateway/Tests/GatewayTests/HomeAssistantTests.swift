import BLEStreams
import Foundation
import MQTT
import Spool
import TestBroker
import Testing

@testable import Gateway

@Suite("Discovery by Home Assistant")
struct HomeAssistantTests {
    private let outbox: Outbox
    private let discovery: HomeAssistant

    init() throws {
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")))
        outbox = Outbox(spool, prefix: "ble") { _ in }
        let publisher = Publisher(spool, prefix: "ble") { _ in }
        publisher.use(outbox)
        discovery = HomeAssistant(prefix: "ha", publisher)
        outbox.connected()
    }

    private func announce(_ uuid: BluetoothUUID, of label: String) {
        announce(PublishedCharacteristic(uuid: uuid), of: label)
    }

    private func announce(_ characteristic: PublishedCharacteristic, of label: String) {
        let topic = "value/\(label)/\(characteristic.topic)"
        discovery.announce(.number(20, unit: ""), of: characteristic, from: label, on: topic)
    }

    /// What was published since, by topic.
    private func published() -> [String: String] {
        var published: [String: String] = [:]
        while let item = outbox.next() {
            published[item.message.topic] = String(decoding: item.message.payload, as: UTF8.self)
            outbox.acknowledged(item.token)
        }
        return published
    }

    @Test("tells peripherals apart whose labels aren't in ASCII")
    func labels() throws {
        let labels = ["\u{5BA2}\u{5385}", "\u{5367}\u{5BA4}", "K\u{FC}che", "K\u{F6}che", "hall 1"]
        for label in labels { announce(.Characteristics.temperature, of: label) }
        let topics = published().keys.sorted()
        #expect(topics.count == labels.count)
        #expect(topics.contains("ha/sensor/ble-hall-1/2A6E/config"))
        let permitted = try Regex("[a-zA-Z0-9_/-]+")
        #expect(topics.allSatisfy { $0.wholeMatch(of: permitted) != nil })
    }

    @Test("takes back what a changed configuration no longer has, and announces it again when it is back")
    func removal() {
        announce(.Characteristics.temperature, of: "hall")
        announce(.Characteristics.humidity, of: "hall")
        announce(.Characteristics.temperature, of: "attic")
        #expect(published().count == 3)
        discovery.keep([PublishedCharacteristic(uuid: .Characteristics.humidity)], of: "hall")
        #expect(published() == ["ha/sensor/ble-hall/2A6E/config": ""])
        discovery.keep([], of: "hall")
        #expect(published() == ["ha/sensor/ble-hall/2A6F/config": ""])
        announce(.Characteristics.temperature, of: "hall")
        announce(.Characteristics.temperature, of: "attic")
        #expect(published().keys.sorted() == ["ha/sensor/ble-hall/2A6E/config"])
    }

    @Test("tells characteristics of one type apart that are in several services")
    func services() {
        let services = [BluetoothUUID.environmentalSensing, BluetoothUUID(0xFFF0)]
        let both = services.map { PublishedCharacteristic(uuid: .Characteristics.temperature, service: $0) }
        for characteristic in both { announce(characteristic, of: "tank") }
        let told = published()
        #expect(told.count == 2)
        let first = told["ha/sensor/ble-tank/2A6E-181A/config"] ?? ""
        #expect(first.contains(#""name":"Environmental Sensing Temperature""#), "\(first)")
        #expect(first.contains(#""state_topic":"ble/value/tank/2A6E-181A""#), "\(first)")
        discovery.keep([both[0]], of: "tank")
        #expect(published() == ["ha/sensor/ble-tank/2A6E-FFF0/config": ""])
    }
}
