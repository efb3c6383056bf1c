import Foundation
import MQTT
import Sparkplug
import Spool
import TestBroker
import Testing

@testable import Gateway

@Suite("The driver of an edge node")
struct SparkplugDriverTests {
    private static let names = SparkplugNames(group: "plant", node: "hall")

    private func driver(_ folder: String, now: UInt64 = 100, primaryHost: String? = nil) throws -> SparkplugDriver {
        try SparkplugDriver(
            .init(group: Self.names.group, node: Self.names.node, primaryHost: primaryHost),
            beside: .init(folder: "\(folder)/spool", megabytes: 1),
            now: { now },
            report: { Issue.record("\($0)") }
        )
    }

    private func connect(_ driver: SparkplugDriver) {
        _ = driver.will()
        driver.connected()
        for topic in driver.names.subscriptions { driver.subscribed(to: topic) }
    }

    private func metric(_ number: Int) -> [SparkplugMetric] {
        [SparkplugMetric("Temperature", .double(Double(number)), at: 100)]
    }

    /// A driver that has handed out its certificates; its value follows, when the connection has room for it.
    private func born(_ folder: String) throws -> SparkplugDriver {
        let driver = try driver(folder)
        driver.values(metric(1), from: "t", at: 100)
        connect(driver)
        #expect(driver.next()?.message.topic == "spBv1.0/plant/NBIRTH/hall")
        #expect(driver.next()?.message.topic == "spBv1.0/plant/DBIRTH/hall/t")
        return driver
    }

    /// What the driver sends now, by type, device and metrics; a connection takes all of it.
    private func sent(_ driver: SparkplugDriver) throws -> [(type: String, payload: SparkplugPayload)] {
        var sent: [(String, SparkplugPayload)] = []
        while let item = driver.next() {
            #expect(item.message.quality == .atMostOnce)
            #expect(!item.message.isRetained)
            let levels = item.message.topic.split(separator: "/").map(String.init)
            sent.append((levels[2], try SparkplugPayload(decoding: item.message.payload)))
            driver.acknowledged(item.token)
        }
        return sent
    }

    @Test("keeps count of what finds no room: each value is sent, or in the number of the dropped ones")
    func full() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try driver(folder)
        let count = 30_000
        for number in 0..<count { driver.values(metric(number), from: "t", at: 100) }
        connect(driver)
        let sent = try sent(driver)
        let dropped = driver.spool.counts.dropped
        #expect(dropped > 0)
        #expect(sent.first?.type == "NBIRTH")
        #expect(sent.first?.payload.metrics.last?.value == .unsigned(UInt64(dropped)))
        let values = sent.filter { $0.type == "DDATA" }.flatMap(\.payload.metrics)
        // The record of the start was the first that was dropped.
        #expect(values.count + dropped == count + 1)
        #expect(!values.contains { !$0.isHistorical })
        #expect(values.last?.value == .double(Double(count - 1)))
        #expect(driver.spool.counts.spooled == 0)
        for number in 0..<count { driver.values(metric(number), from: "t", at: 100) }
        let news = try self.sent(driver).first
        #expect(news?.type == "NDATA")
        #expect(news?.payload.metrics.map(\.value) == [.unsigned(UInt64(driver.spool.counts.dropped))])
    }

    @Test func `a value that was dropped on its way, and is sent, is not in the number of the dropped ones`() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try born(folder)
        for number in 0..<30_000 { driver.values(metric(number), from: "t", at: 100) }
        let sent = try sent(driver)
        let dropped = driver.spool.counts.dropped
        #expect(dropped > 0)
        #expect(sent.first?.type == "DDATA")
        let news = sent.first { $0.type == "NDATA" }
        #expect(news?.payload.metrics.map(\.value) == [.unsigned(UInt64(dropped))])
    }

    /// The devices that a host takes for alive by what the driver sends now.
    private func living(_ driver: SparkplugDriver) -> Set<String> {
        var living: Set<String> = []
        while let item = driver.next() {
            let levels = item.message.topic.split(separator: "/").map(String.init)
            switch levels[2] {
            case "NBIRTH": living = []
            case "DBIRTH": living.insert(levels[4])
            case "DDEATH": living.remove(levels[4])
            default: break
            }
            driver.acknowledged(item.token)
        }
        return living
    }

    @Test("tells the hosts which devices are there, though the records of that found no room")
    func lostStates() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try driver(folder)
        driver.device("gone", isOnline: true)
        driver.values(metric(1), from: "gone", at: 100)
        connect(driver)
        #expect(living(driver) == ["gone"])
        // The broker is away for so long that the oldest records are dropped.
        driver.interrupted()
        driver.device("gone", isOnline: false)
        driver.device("come", isOnline: true)
        for number in 0..<30_000 { driver.values(metric(number), from: "t", at: 100) }
        connect(driver)
        #expect(living(driver) == ["come", "t"])
        #expect(driver.spool.counts.dropped > 0)
        #expect(driver.next()?.message == nil)
    }

    @Test("sends what was not on its way again on the next connection")
    func interrupted() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try born(folder)
        driver.interrupted()
        #expect(driver.next()?.message == nil)
        connect(driver)
        let sent = try sent(driver)
        #expect(sent.map(\.type) == ["NBIRTH", "DBIRTH", "DDATA"])
        #expect(sent.last?.payload.metrics.first?.value == .double(1))
    }

    @Test("marks what came while the primary host was away as history, though the broker was there")
    func primaryHost() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try driver(folder, primaryHost: "scada")
        func say(_ isOnline: Bool, _ time: Int) {
            let text = #"{"online":\#(isOnline),"timestamp":\#(time)}"#
            driver.received(MQTTMessage("spBv1.0/STATE/scada", Array(text.utf8)))
        }
        func history() throws -> [Bool] {
            try sent(driver).filter { $0.type == "DDATA" }.flatMap(\.payload.metrics).map(\.isHistorical)
        }
        driver.values(metric(1), from: "t", at: 100)
        connect(driver)
        say(false, 10)
        driver.values(metric(2), from: "t", at: 100)
        #expect(try history().isEmpty)
        say(true, 20)
        #expect(try history() == [true, true])
        driver.values(metric(3), from: "t", at: 100)
        #expect(try history() == [false])
        // A host that asks for a birth was there all the time.
        let rebirth = SparkplugPayload(metrics: [SparkplugMetric("Node Control/Rebirth", .boolean(true), at: 1)])
        driver.values(metric(4), from: "t", at: 100)
        driver.received(MQTTMessage(Self.names.nodeCommand, rebirth.encoded))
        #expect(try history() == [false])
    }

    @Test("takes values before a session is ready for a sign of life, and late ones for none")
    func order() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try driver(folder)
        connect(driver)
        driver.values(metric(1), from: "t", at: 90)
        driver.device("t", isOnline: true)
        #expect(try sent(driver).map(\.type) == ["NBIRTH", "DBIRTH", "DDATA"])
        driver.device("t", isOnline: false)
        driver.device("t", isOnline: false)
        driver.values(metric(2), from: "t", at: 99)
        #expect(try sent(driver).map(\.type) == ["DDEATH", "DBIRTH", "DDATA", "DDEATH"])
        driver.values(metric(3), from: "t", at: 101)
        driver.device("t", isOnline: true)
        #expect(try sent(driver).map(\.type) == ["DBIRTH", "DDATA"])
    }

    @Test("passes over a record that is none, and tells of it")
    func damaged() throws {
        let folder = try temporaryFolder("sparkplug")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let driver = try driver(folder)
        try driver.spool.append([7, 7, 7])
        driver.values(metric(1), from: "t", at: 100)
        connect(driver)
        #expect(try sent(driver).map(\.type) == ["NBIRTH", "NDATA", "DBIRTH", "DDATA"])
        #expect(driver.spool.counts.dropped == 1)
    }
}
