import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite("A message that the broker refuses")
final class RefusalsTests: Sendable {
    private let reports = Mutex<[String]>([])

    private func error(_ topic: String) -> MQTTError {
        MQTTError(code: .rejected(reason: 0x87), operation: "publish", object: topic, cause: "no", remedy: "Ask.")
    }

    @Test("is told of once for each topic, and again on the next connection")
    func refusals() throws {
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")))
        let outbox = Outbox(spool, prefix: "p") { [self] line in reports.withLock { $0.append(line) } }
        for number in 0..<20 {
            try spool.append(Entry(topic: "p/value/\(number % 2)", members: .object([])).encoded)
        }
        outbox.connected()
        while let item = outbox.next() { outbox.refused(item.token, error(item.message.topic)) }
        // Two topics of values, and that of the losses.
        #expect(reports.withLock { $0.count } == 3)
        #expect(outbox.counts.refused > 20)
        outbox.interrupted()
        outbox.connected()
        try spool.append(Entry(topic: "p/value/0", members: .object([])).encoded)
        let item = try #require(outbox.next())
        outbox.refused(item.token, error(item.message.topic))
        #expect(reports.withLock { $0.count } == 4)
    }

    @Test("is told of for some of very many topics, and that there are more")
    func manyTopics() throws {
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")))
        let outbox = Outbox(spool, prefix: "p") { [self] line in reports.withLock { $0.append(line) } }
        outbox.connected()
        for number in 0..<1000 { outbox.refused(UInt64(number) << 1 | 1, error("p/advertisement/\(number)")) }
        #expect(reports.withLock { $0.count } < 50)
        #expect(reports.withLock { $0.last }?.contains("more") == true)
    }
}
