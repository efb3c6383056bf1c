import MQTT
import Spool
import Synchronization

@testable import Gateway

/// A publisher with a connection, and what it says there, of which nothing is acknowledged unless a test does that.
final class PublisherBench: Sendable {
    let publisher: Publisher
    let outbox: Outbox
    private let messages = Mutex<[MQTTMessage]>([])

    /// - Parameter folder: where the spool gets a folder of its own.
    init(in folder: String) throws {
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        publisher = Publisher(spool, prefix: "p") { _ in }
        outbox = Outbox(spool, prefix: "p") { _ in }
        publisher.use(outbox)
        outbox.connected()
    }

    /// The payloads under a topic so far.
    func said(_ topic: String) -> [String] {
        messages.withLock { messages in
            while let item = outbox.next() { messages.append(item.message) }
            return messages.filter { $0.topic == topic }.map { String(decoding: $0.payload, as: UTF8.self) }
        }
    }

    /// Whether something under a topic contains a word; an empty one is in all.
    func hasSaid(_ topic: String, _ word: String) -> Bool {
        said(topic).contains { word.isEmpty || $0.contains(word) }
    }
}
