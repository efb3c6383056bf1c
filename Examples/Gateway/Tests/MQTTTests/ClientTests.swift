import Foundation
import TestBroker
import Testing

@testable import MQTT

@Suite("A client", .enabled(if: Broker.program != nil, "\(Broker.skipReason)"), .timeLimit(.minutes(10)))
struct ClientTests {
    private func settings(_ broker: Broker, _ name: String = "client") -> MQTTSettings {
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: name)
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(100))
        return settings
    }

    @Test("sends and receives messages with their properties")
    func exchange() async throws {
        let broker = try await Broker()
        var message = MQTTMessage("a/b", Array("x".utf8))
        message.responseTopic = "reply/here"
        message.correlationData = [0, 1, 255]
        message.contentType = "text/plain"
        let outbox = ListOutbox()
        var settings = settings(broker)
        settings.subscriptions = ["a/#"]
        let client = MQTTClient(settings, outbox: outbox)
        let sent = message
        let received = try await running(client) { () -> MQTTMessage? in
            // The broker handles the subscription before what follows it.
            outbox.add([sent])
            client.wake()
            for await message in client.messages { return message }
            return nil
        }
        #expect(received == message)
        #expect(client.counts.acknowledged == 1)
    }

    @Test("receives a message that is too large without its octets, so that its sender can have an answer")
    func large() async throws {
        let broker = try await Broker()
        var message = MQTTMessage("a/large", [UInt8](repeating: 1, count: 20))
        message.responseTopic = "reply/here"
        message.correlationData = [7]
        let outbox = ListOutbox()
        var settings = settings(broker)
        settings.subscriptions = ["a/#"]
        settings.largestMessage = 10
        let client = MQTTClient(settings, outbox: outbox)
        let sent = [message, MQTTMessage("a/small", [2])]
        let received = try await running(client) { () -> MQTTMessage? in
            outbox.add(sent)
            client.wake()
            return await client.messages.first { _ in true }
        }
        #expect(received?.topic == "a/large" && received?.payload == [])
        #expect(received?.responseTopic == "reply/here" && received?.correlationData == [7])
        #expect(client.counts.dropped == 1)
    }

    @Test("never has more in flight than its own limit and the broker's", arguments: [(3, 20), (64, 5)])
    func window(_ own: Int, _ brokers: Int) async throws {
        let broker = try await Broker("allow_anonymous true\nmax_inflight_messages \(brokers)")
        let outbox = ListOutbox((0..<500).map { MQTTMessage("n", Array("\($0)".utf8)) })
        var settings = settings(broker)
        settings.inFlight = own
        let client = MQTTClient(settings, outbox: outbox)
        try await running(client) { await outbox.wait { $0.acknowledged.count == 500 } }
        #expect(outbox.now.most == min(own, brokers))
        #expect(outbox.now.acknowledged.map(\.payload) == (0..<500).map { Array("\($0)".utf8) })
    }

    @Test("connects again after the broker was away, and repeats nothing by itself")
    func reconnecting() async throws {
        let broker = try await Broker()
        let outbox = ListOutbox([MQTTMessage("n", [1])])
        let client = MQTTClient(settings(broker), outbox: outbox)
        try await running(client) {
            await outbox.wait { $0.acknowledged.count == 1 }
            await broker.stop()
            let event = await client.events.first { if case .disconnected = $0 { true } else { false } }
            guard case .disconnected(let error, let pause) = event else {
                Issue.record("the client has not noticed")
                return
            }
            #expect(pause <= .milliseconds(10))
            #expect(!error.remedy.isEmpty)
            outbox.add([MQTTMessage("n", [2])])
            client.wake()
            try await broker.start()
            await outbox.wait { $0.acknowledged.count == 2 }
        }
        #expect(client.counts.sent == 2)
        #expect(client.counts.connections == 2)
    }

    @Test("says why there is no connection, and what to do, if nobody listens")
    func nobody() async throws {
        var settings = MQTTSettings(host: "127.0.0.1", port: freePort(), clientID: "client")
        settings.backoff = Backoff(first: .milliseconds(1), most: .milliseconds(1))
        let client = MQTTClient(settings, outbox: ListOutbox())
        let error = try await disconnection(of: client)
        #expect(error.code == .unreachable)
        #expect(error.object.contains("127.0.0.1"))
        #expect(error.remedy.contains("Check"))
    }

    @Test("says what to do if another client has its name")
    func twins() async throws {
        let broker = try await Broker()
        let (one, other) = (ListOutbox([MQTTMessage("n", [1])]), ListOutbox())
        let client = MQTTClient(settings(broker), outbox: one)
        let twin = MQTTClient(settings(broker), outbox: other)
        let error = try await running(client) { () -> MQTTError? in
            await one.wait { $0.acknowledged.count == 1 }
            return try await running(twin) {
                for await case .disconnected(let error, _) in client.events { return error }
                return nil
            }
        }
        #expect(error?.remedy.contains("another client has the same client ID") == true)
        #expect(error?.cause.hasSuffix(".") == false)
    }

    @Test("has a last will, which the broker publishes only if the client vanishes")
    func will() async throws {
        let broker = try await Broker()
        let collector = try await Collector(on: broker)
        var settings = settings(broker)
        settings.will = MQTTMessage("status", Array("offline".utf8), isRetained: true)
        let again = settings
        let first = MQTTClient(settings, outbox: ListOutbox())
        try await running(first) { _ = await first.events.first { if case .connected = $0 { true } else { false } } }
        // A second client with the same name pushes the first one out: that is no farewell.
        let second = MQTTClient(settings, outbox: ListOutbox())
        try await running(second) {
            _ = await second.events.first { if case .connected = $0 { true } else { false } }
            let outbox = ListOutbox([MQTTMessage("end", [])])
            let third = MQTTClient(again, outbox: outbox)
            // The second one comes back, and may push this one out before its message was sent.
            try await running(third) { await outbox.wait { $0.acknowledged.count == 1 } }
        }
        var topics: [String] = []
        while let message = await collector.next() {
            topics.append(message.topic)
            if Set(topics).count == 2 { break }
        }
        #expect(topics.filter { $0 == "status" }.count == 1)
    }

    @Test("reports a refused login")
    func login() async throws {
        let broker = try await Broker("allow_anonymous false")
        let client = MQTTClient(settings(broker), outbox: ListOutbox())
        let error = try await disconnection(of: client)
        #expect(error.code == .refused(reason: 135))
        #expect(error.remedy.contains("password"))
    }

    @Test("gives up a message that the broker will never take, and goes on")
    func refusal() async throws {
        let folder = try temporaryFolder("broker")
        try "topic write allowed\n".write(toFile: "\(folder)/acl", atomically: true, encoding: .utf8)
        let broker = try await Broker("allow_anonymous true\nacl_file \(folder)/acl\nmax_packet_size 1000", in: folder)
        let outbox = ListOutbox([
            MQTTMessage("forbidden", [1]), MQTTMessage("allowed", [UInt8](repeating: 0, count: 2000)),
            MQTTMessage("not/+/allowed", [1]), MQTTMessage("allowed", [2]),
        ])
        let client = MQTTClient(settings(broker), outbox: outbox)
        try await running(client) { await outbox.wait { $0.acknowledged.count + $0.refused.count == 4 } }
        #expect(outbox.now.acknowledged.map(\.payload) == [[2]])
        #expect(Set(outbox.now.refused.map(\.code)) == [.rejected(reason: 135), .invalidMessage])
        #expect(Set(outbox.now.refused.map(\.object)) == ["forbidden", "allowed", "not/+/allowed"])
        #expect(client.counts.connections == 1, "a refused message has ended the connection")
    }

    @Test("counts what it drops if the program doesn't take received messages")
    func slowProgram() async throws {
        let broker = try await Broker()
        let outbox = ListOutbox()
        var settings = settings(broker)
        settings.subscriptions = ["n"]
        settings.inboxLimit = 10
        let client = MQTTClient(settings, outbox: outbox)
        try await running(client) {
            outbox.add((0..<100).map { MQTTMessage("n", [UInt8($0)]) })
            client.wake()
            await outbox.wait { $0.acknowledged.count == 100 && client.counts.received >= 99 }
        }
        #expect(client.counts.dropped >= 89)
    }
}
