import TestBroker
import Testing

@testable import MQTT

@Suite(
    "A client whose connections don't hold",
    .enabled(if: Broker.program != nil, "\(Broker.skipReason)"),
    .timeLimit(.minutes(5))
)
struct ShortConnectionTests {
    @Test("comes back more and more slowly if each connection ends at once, although the broker takes its messages")
    func pushedOut() async throws {
        let broker = try await Broker()
        let relay = try Relay(to: broker.port)
        var settings = MQTTSettings(host: "127.0.0.1", port: relay.port, clientID: "client")
        settings.backoff = Backoff(first: .milliseconds(10), most: .seconds(60))
        let outbox = ListOutbox()
        let client = MQTTClient(settings, outbox: outbox, random: { 1 })
        let pauses = try await running(client) { () -> [Duration] in
            var pauses: [Duration] = []
            for await event in client.events {
                switch event {
                case .connected:
                    outbox.add([MQTTMessage("n", [1])])
                    client.wake()
                    let count = pauses.count + 1
                    await outbox.wait { $0.acknowledged.count == count }
                    relay.cut()
                case .disconnected(_, let pause): pauses.append(pause)
                case .subscriptionRefused, .ended: break
                }
                if pauses.count == 4 { break }
            }
            return pauses
        }
        #expect(pauses == [10, 20, 40, 80].map { .milliseconds($0) })
    }
}
