import Synchronization
import TestBroker
import Testing

@testable import MQTT

@Suite("A follower", .enabled(if: Broker.program != nil, "\(Broker.skipReason)"), .timeLimit(.minutes(10)))
struct FollowerTests {
    private static let topics = (0..<5).map { "t/\($0)" }

    private func settings(_ broker: Broker, _ name: String) -> MQTTSettings {
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: name)
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(100))
        return settings
    }

    /// The leases need this order: see A1 in LEASES.md.
    @Test("sees the broker's one order: all alike, over all topics, from the retained message on")
    func order() async throws {
        let broker = try await Broker()
        let (publishers, each) = (6, 300)
        let early = (0..<4).map { Recorder(Self.topics, last: "early\($0)") }
        let late = (0..<4).map { Recorder(Self.topics, last: "late\($0)") }
        let outboxes = (0..<publishers).map { publisher in
            ListOutbox(
                (0..<each).map { number in
                    let topic = Self.topics[(number * 7 + publisher) % Self.topics.count]
                    return MQTTMessage(topic, Array("\(publisher) \(number)".utf8), isRetained: true)
                }
            )
        }
        await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            func run(_ recorder: Recorder) {
                let client = MQTTClient(settings(broker, recorder.name), outbox: recorder)
                group.addTask { await client.run() }
            }
            for recorder in early { run(recorder) }
            for recorder in early { await recorder.wait { $0.confirmed == Self.topics.count } }
            for (number, outbox) in outboxes.enumerated() {
                let client = MQTTClient(settings(broker, "publisher\(number)"), outbox: outbox)
                group.addTask { await client.run() }
            }
            await early[0].wait { $0.messages.count > each }
            for recorder in late { run(recorder) }
            for outbox in outboxes { await outbox.wait { $0.acknowledged.count == each } }
            for recorder in early { await recorder.wait { $0.messages.count == publishers * each } }
            let whole = early[0].now.messages.map(\.payload)
            for recorder in early { #expect(recorder.now.messages.map(\.payload) == whole) }
            for recorder in late {
                for topic in Self.topics {
                    let order = early[0].now.messages.filter { $0.topic == topic }.map(\.payload)
                    await recorder.wait { $0.messages.last { $0.topic == topic }?.payload == order.last }
                    let seen = recorder.now.messages.filter { $0.topic == topic }
                    // What was retained, and then all that came after it.
                    #expect(seen.first?.isRetained == true)
                    #expect(seen.dropFirst().allSatisfy { !$0.isRetained })
                    #expect(seen.map(\.payload) == Array(order.suffix(seen.count)))
                }
            }
        }
    }

    @Test("names its will before each connection, and the broker waits with it")
    func delayedWill() async throws {
        let broker = try await Broker()
        let watcher = Recorder(["will"], last: "watcher")
        let follower = Recorder([], last: "follower", willDelay: 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let watching = MQTTClient(settings(broker, "watcher"), outbox: watcher)
            group.addTask { await watching.run() }
            await watcher.wait { $0.confirmed == 1 }
            let relay = try Relay(to: broker.port)
            var settings = settings(broker, "follower")
            settings.port = relay.port
            let client = MQTTClient(settings, outbox: follower)
            group.addTask { await client.run() }
            await follower.wait { $0.connections == 1 }
            // Clean Start ends the old session: MQTT 5 asks for its will at once, but Mosquitto 2.0 forgets it.
            relay.cut()
            await follower.wait { $0.connections == 2 }
            relay.stop()
            let began = ContinuousClock.now
            let last = Array("will 2".utf8)
            await watcher.wait { $0.messages.last?.payload == last }
            #expect(began.duration(to: .now) > .seconds(1), "the will came at once")
        }
    }
}

/// Records what it sees.
final class Recorder: MQTTFollower {
    struct State {
        var changes: [MQTTSubscriptionChange] = []
        var confirmed = 0
        var connections = 0
        var wills = 0
        var messages: [MQTTMessage] = []
    }

    let name: String
    private let topics: [String]
    private let willDelay: Int
    private let state = Mutex(State())
    private let changes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(_ topics: [String], last name: String, willDelay: Int = 0) {
        (self.topics, self.name, self.willDelay) = (topics, name, willDelay)
    }

    var now: State { state.withLock { $0 } }

    /// Waits until something is so; for one caller.
    func wait(until isSo: (State) -> Bool) async {
        if isSo(now) { return }
        for await _ in changes.stream where isSo(now) { return }
    }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        changes.continuation.yield()
    }

    func will() -> MQTTDelayedWill? {
        state.withLock { $0.wills += 1 }
        return MQTTDelayedWill(MQTTMessage("will", Array("will \(now.wills)".utf8)), delay: willDelay)
    }

    func connected() {
        change { state in
            state.connections += 1
            state.changes = topics.map { .subscribe($0) }
        }
    }

    func nextChange() -> MQTTSubscriptionChange? {
        state.withLock { $0.changes.isEmpty ? nil : $0.changes.removeFirst() }
    }

    func subscribed(to topic: String) { change { $0.confirmed += 1 } }
    func received(_ message: MQTTMessage) { change { $0.messages.append(message) } }
    func next() -> MQTTOutgoing? { nil }
    func acknowledged(_ token: UInt64) {}
    func refused(_ token: UInt64, _ error: MQTTError) { Issue.record("\(error)") }
    func interrupted() {}
}
