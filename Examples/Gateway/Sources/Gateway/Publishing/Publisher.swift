import Foundation
import MQTT
import Spool
import Synchronization

/// Takes what the sensors send: to the spool, and from there to the broker.
final class Publisher: Sendable {
    let spool: Spool
    let prefix: String
    let report: @Sendable (String) -> Void
    private let link = Mutex<(outbox: Outbox?, client: MQTTClient?)>((nil, nil))
    private let refused = Mutex(RefusedRecords())

    init(_ spool: Spool, prefix: String, report: @escaping @Sendable (String) -> Void) {
        self.spool = spool
        self.prefix = prefix
        self.report = report
    }

    /// Where states and replies go.
    func use(_ outbox: Outbox) { link.withLock { $0.outbox = outbox } }

    /// The client in use.
    func use(_ outbox: Outbox, _ client: MQTTClient) { link.withLock { $0 = (outbox, client) } }

    /// Publishes an object, at once or whenever the broker is there.
    func publish(_ topic: String, _ members: JSONText) {
        do throws(SpoolError) {
            try spool.append(Entry(topic: "\(prefix)/\(topic)", members: members).encoded)
            refused.withLock { $0.stored() }
        } catch {
            if let news = refused.withLock({ $0.news(error) }) { report(news) }
        }
        link.withLock { $0.client }?.wake()
    }

    /// Sets the state of a topic.
    func retain(_ topic: String, _ octets: [UInt8]) { retain(absolute: "\(prefix)/\(topic)", octets) }

    /// Sets the state of a topic that doesn't begin with the prefix.
    func retain(absolute topic: String, _ octets: [UInt8]) { put { $0.retain(.json(topic, octets, isRetained: true)) } }

    /// Takes over the state of a topic that the broker has by an earlier run of the gateway.
    func adopt(_ topic: String, _ octets: [UInt8]) {
        put { $0.adopt(.json("\(prefix)/\(topic)", octets, isRetained: true)) }
    }

    /// Whether a topic has a state by this run of the gateway.
    func hasState(_ topic: String) -> Bool { link.withLock { $0.outbox }?.hasState("\(prefix)/\(topic)") ?? false }

    /// Removes the state of a topic, which is then unknown to the broker, too.
    func remove(_ topic: String) { remove(absolute: "\(prefix)/\(topic)") }

    /// Removes the state of a topic that doesn't begin with the prefix.
    func remove(absolute topic: String) { put { $0.remove(topic) } }

    /// Sends a reply.
    func reply(_ message: MQTTMessage) { put { $0.reply(message) } }

    private func put(_ change: (Outbox) -> Void) {
        let (outbox, client) = link.withLock { $0 }
        outbox.map(change)
        client?.wake()
    }
}
