import MQTT
import Testing

@testable import Gateway

@Suite("A broker that is away")
struct BrokerNewsTests {
    private func away(_ cause: String, _ pause: Int) -> MQTTEvent {
        let error = MQTTError(code: .unreachable, operation: "connect", object: "b:1883", cause: cause, remedy: "Wait.")
        return .disconnected(error, retryAfter: .seconds(pause))
    }

    @Test("is told of once for days, again if the reason is another one, and when it was there meanwhile")
    func attempts() {
        var news = BrokerNews(of: "leases")
        let first = news.news(away("Connection refused", 1))
        #expect(first?.hasPrefix("leases: connect: b:1883: Connection refused. Wait. Next attempt in 1.0 s") == true)
        for attempt in 0..<5000 {
            let line = news.news(away("Connection refused", min(attempt, 60)))
            #expect(line == nil)
        }
        let other = news.news(away("No route to host", 60))
        #expect(other?.contains("No route to host") == true)
        let connected = news.news(.connected(inFlight: 20))
        #expect(connected == "leases: connected; at most 20 messages in flight")
        let again = news.news(away("No route to host", 1))
        #expect(again?.contains("No route to host") == true)
        let end = news.news(.ended)
        #expect(end == nil)
    }

    @Test("is told of once for each of two reasons that take turns, as by IPv6 and by IPv4")
    func turns() {
        var news = BrokerNews(of: "broker")
        let reasons = ["Connection refused", "Network is unreachable"]
        for reason in reasons {
            let first = news.news(away(reason, 60))
            #expect(first?.contains(reason) == true)
        }
        for attempt in 0..<1000 {
            let line = news.news(away(reasons[attempt % 2], 60))
            #expect(line == nil)
        }
    }

    @Test("tells of a refused subscription once on a connection")
    func refusals() {
        var news = BrokerNews(of: "leases")
        let error = MQTTError(
            code: .rejected(reason: 0x87),
            operation: "subscribe",
            object: "a",
            cause: "Not authorized",
            remedy: "Wait."
        )
        for _ in 0..<2 {
            let first = news.news(.subscriptionRefused(error))
            #expect(first == "leases: subscribe: a: Not authorized. Wait.")
            let second = news.news(.subscriptionRefused(error))
            #expect(second == nil)
            _ = news.news(.connected(inFlight: 20))
        }
    }
}
