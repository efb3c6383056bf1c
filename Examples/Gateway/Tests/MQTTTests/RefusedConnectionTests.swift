import TestBroker
import Testing

@testable import MQTT

@Suite(
    "A client that a broker doesn't want",
    .enabled(if: Broker.program != nil, "\(Broker.skipReason)"),
    .timeLimit(.minutes(5))
)
struct RefusedConnectionTests {
    @Test(
        "says what the broker lacks, and doesn't have its password checked for that",
        arguments: [("retain_available false", "retained"), ("max_qos 0", "QoS 1")]
    )
    func lacks(_ setting: String, _ word: String) async throws {
        let broker = try await Broker("allow_anonymous true\n\(setting)")
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "client")
        settings.will = MQTTMessage("status", [1], isRetained: true)
        let client = MQTTClient(settings, outbox: ListOutbox())
        let error = try await disconnection(of: client)
        #expect(error.remedy.contains(word), "\(error)")
        #expect(!error.remedy.contains("password"), "\(error)")
    }
}
