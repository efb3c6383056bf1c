import MQTT
import TestBroker
import Testing

/// Messages about as large as the largest packet that a broker takes.
@Suite(.enabled(if: Broker.program != nil, "\(Broker.skipReason)"), .timeLimit(.minutes(2)))
struct LargestPacketTests {
    /// - Parameter most: the largest payload without properties: a packet of 127 octets has a shorter length than the
    ///   one of 128.
    @Test(arguments: [(limit: 60, most: 52), (limit: 130, most: 121), (limit: 1000, most: 991)])
    func `one that is just too large is refused, and those that aren't are sent`(limit: Int, most: Int) async throws {
        let broker = try await Broker("allow_anonymous true\nmax_packet_size \(limit)")
        let messages = (most - 30...most + 10).map { MQTTMessage("n", [UInt8](repeating: 0, count: $0)) }
        let outbox = ListOutbox(messages + messages.flatMap { [Self.typed($0), Self.correlated($0)] })
        let client = MQTTClient(MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "c"), outbox: outbox)
        let count = 3 * messages.count
        try await running(client) { await outbox.wait { $0.acknowledged.count + $0.refused.count == count } }
        let plain = outbox.now.acknowledged.filter { $0.contentType == nil && $0.correlationData == nil }
        #expect(plain.map(\.payload.count).max() == most)
        #expect(plain.count == 31)
        #expect(Set(outbox.now.refused.map(\.code)) == [.invalidMessage])
        #expect(client.counts.connections == 1, "a message that is too large has ended the connection")
    }

    private static func typed(_ message: MQTTMessage) -> MQTTMessage {
        var message = message
        message.contentType = "text"
        return message
    }

    /// The length of its properties takes two octets.
    private static func correlated(_ message: MQTTMessage) -> MQTTMessage {
        var message = message
        message.payload = Array(message.payload.dropLast(140))
        message.correlationData = [UInt8](repeating: 1, count: 134)
        return message
    }
}
