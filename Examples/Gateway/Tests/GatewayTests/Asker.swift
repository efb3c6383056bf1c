import MQTT
import Synchronization
import TestBroker
import Testing

/// Sends commands to a gateway, and waits for the reply to each.
final class Asker: Sendable {
    /// The topic of the replies.
    let replies: String
    private let client: MQTTClient
    private let questions: Questions

    init(_ broker: Broker, _ topic: String, name: String = "asker") {
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: name)
        replies = "replies/\(name)"
        settings.subscriptions = [replies]
        questions = Questions(topic: topic, replies: replies)
        client = MQTTClient(settings, outbox: questions)
    }

    /// Sends a command that gets no reply.
    func tell(_ text: String) {
        questions.add(text, isAnswered: false)
        client.wake()
    }

    /// Sends a command whose reply somebody else reads, under ``replies``.
    func send(_ text: String) {
        questions.add(text, isAnswered: true)
        client.wake()
    }

    /// Is connected while the closure runs, which is given what asks.
    func run(_ body: (_ ask: @escaping @Sendable (String) async -> String) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [client] in await client.run() }
            defer { group.cancelAll() }
            await body { [self] text in
                questions.add(text, isAnswered: true)
                client.wake()
                // What was sent twice, over a connection that was lost, is answered twice.
                let expected = Array(text.utf8.prefix(8))
                let reply = await client.messages.first { $0.correlationData == expected }
                #expect(reply != nil)
                return String(decoding: reply?.payload ?? [], as: UTF8.self)
            }
        }
    }
}

private final class Questions: MQTTOutbox {
    private let topic: String
    private let replies: String
    private let state = Mutex(State())

    private struct State {
        var waiting: [MQTTOutgoing] = []
        /// Sent, and not acknowledged, in order.
        var inFlight: [MQTTOutgoing] = []
        var count: UInt64 = 0
    }

    init(topic: String, replies: String) {
        self.topic = topic
        self.replies = replies
    }

    func add(_ text: String, isAnswered: Bool) {
        var message = MQTTMessage(topic, Array(text.utf8))
        if isAnswered {
            message.responseTopic = replies
            message.correlationData = Array(text.utf8.prefix(8))
        }
        state.withLock { state in
            state.count += 1
            state.waiting.append(MQTTOutgoing(state.count, message))
        }
    }

    func connected() {}

    func next() -> MQTTOutgoing? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let item = state.waiting.removeFirst()
            state.inFlight.append(item)
            return item
        }
    }

    func acknowledged(_ token: UInt64) { state.withLock { $0.inFlight.removeAll { $0.token == token } } }

    func refused(_ token: UInt64, _ error: MQTTError) {
        acknowledged(token)
        Issue.record("\(error)")
    }

    func interrupted() {
        state.withLock { state in
            state.waiting = state.inFlight + state.waiting
            state.inFlight = []
        }
    }
}
