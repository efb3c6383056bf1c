import Dispatch
import TestBroker
import Testing

@testable import MQTT

@Suite("A client whose broker's name is being looked up", .timeLimit(.minutes(5)))
struct SlowLookupTests {
    @Test("can be asked and ended meanwhile")
    func ending() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let answer = DispatchSemaphore(value: 0)
        defer { answer.signal() }
        let settings = MQTTSettings(host: "broker.example", clientID: "client")
        let client = MQTTClient(settings, outbox: ListOutbox()) { settings, will, failures throws(MQTTError) in
            ask.yield()
            answer.wait()
            return try Connection.open(MQTTSettings(host: "127.0.0.1", clientID: "client"), will: will)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            for await _ in asked { break }
            #expect(client.counts.connections == 0)
            group.cancelAll()
        }
    }
}
