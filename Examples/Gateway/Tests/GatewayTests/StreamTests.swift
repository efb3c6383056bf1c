import Foundation
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// A message of the gateway, as a subscriber sees it.
struct Seen: Decodable {
    var n: Int?
    var value: String?
    var sequence: UInt64?
    var epoch: UInt64?
    var redelivered: Bool?
    var history: Bool?
    var first: UInt64?
    var last: UInt64?
    var count: Int?

    init?(_ payload: String) {
        guard let seen = try? JSONDecoder().decode(Seen.self, from: Data(payload.utf8)) else { return nil }
        self = seen
    }
}

@Suite(
    "A stream of values",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct StreamTests {
    /// How many values are sent; `GATEWAY_VALUES` sets it.
    static let count = ProcessInfo.processInfo.environment["GATEWAY_VALUES"].flatMap(Int.init) ?? 20_000

    @Test(
        "loses nothing that isn't counted while the broker is stopped and started again",
        arguments: [64 << 20, SpoolSettings.smallestLimit]
    )
    func restarts(_ limit: Int) async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("spool"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let collector = try await Collector(on: broker, topic: "test/#")
        let spool = try Spool(SpoolSettings(folder: folder, limit: limit, recordsPerSync: 4096))
        let publisher = Publisher(spool, prefix: "test") { Issue.record("\($0)") }
        let outbox = Outbox(spool, prefix: "test") { Issue.record("\($0)") }
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "gateway")
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(100))
        let recorder = MarkRecorder(outbox)
        let client = MQTTClient(settings, outbox: recorder)
        publisher.use(outbox, client)
        var arrived = Arrivals()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            let part = Self.count / 4
            for number in 0..<part { publisher.publish("value", .object(("n", .number(number)))) }
            await arrived.take(from: collector) { $0.values >= min(200, part) }
            await broker.stop()
            for number in part..<(3 * part) { publisher.publish("value", .object(("n", .number(number)))) }
            try await broker.start()
            for number in (3 * part)..<Self.count { publisher.publish("value", .object(("n", .number(number)))) }
            publisher.publish("end", .object([]))
            await arrived.take(from: collector) { $0.hasEnded }
            group.cancelAll()
        }
        try spool.close()
        check(spool.counts, arrived, drops: limit < 1 << 20)
        // The broker, too, may send something twice to the subscriber when it is started again.
        #expect(recorder.unmarked == 0, "something was sent twice and was not marked")
    }

    private func check(_ counts: SpoolCounts, _ arrived: Arrivals, drops: Bool) {
        #expect(counts.appended == Self.count + 1)
        #expect(counts.appended == counts.acknowledged + counts.spooled + counts.dropped)
        #expect(counts.spooled == 0)
        // Each value has arrived, or its loss was reported.
        let numbers = arrived.sequences
        #expect(numbers.union(arrived.lost) == Set(1...UInt64(Self.count + 1)))
        #expect(numbers.count >= counts.acknowledged)
        #expect(arrived.lostCount == counts.dropped)
        #expect(arrived.wrong == 0)
        #expect(arrived.history > 0)
        if drops {
            #expect(counts.dropped > 0)
        } else {
            #expect(counts.dropped == 0)
            #expect(counts.acknowledged == numbers.count)
        }
    }
}

/// Passes an outbox on, and looks whether what is sent twice is marked.
final class MarkRecorder: MQTTOutbox {
    private struct State {
        var sent: Set<UInt64> = []
        var unmarked = 0
    }

    private let outbox: Outbox
    private let state = Mutex(State())

    init(_ outbox: Outbox) { self.outbox = outbox }

    /// How many were sent again without a mark.
    var unmarked: Int { state.withLock { $0.unmarked } }

    func next() -> MQTTOutgoing? {
        guard let item = outbox.next() else { return nil }
        // Even tokens are records of the spool.
        if item.token & 1 == 0 {
            let isMarked = String(decoding: item.message.payload, as: UTF8.self).contains(#""redelivered":true"#)
            state.withLock { if !$0.sent.insert(item.token).inserted, !isMarked { $0.unmarked += 1 } }
        }
        return item
    }

    func connected() { outbox.connected() }
    func acknowledged(_ token: UInt64) { outbox.acknowledged(token) }
    func refused(_ token: UInt64, _ error: MQTTError) { outbox.refused(token, error) }
    func interrupted() { outbox.interrupted() }
}

/// What a subscriber has seen.
struct Arrivals {
    private struct Key: Hashable {
        var epoch: UInt64
        var sequence: UInt64
    }

    private var payloads: [Key: String] = [:]
    private(set) var lost: Set<UInt64> = []
    private(set) var lostCount = 0
    /// Values that came twice, and the second time without a mark.
    private(set) var unmarked = 0
    /// Values whose content is not that of their number.
    private(set) var wrong = 0
    private(set) var duplicates = 0
    private(set) var history = 0
    private(set) var values = 0
    private(set) var hasEnded = false
    private(set) var status = ""
    /// Whether the test's own message has come, which is behind all that the broker accepted before it.
    private(set) var hasMark = false

    var sequences: Set<UInt64> { Set(payloads.keys.map(\.sequence)) }

    /// Takes messages until something is so.
    mutating func take(from collector: Collector, until isSo: (Arrivals) -> Bool) async {
        while !isSo(self), let message = await collector.next() { add(message.topic, message.payload) }
    }

    private mutating func add(_ topic: String, _ payload: String) {
        if topic.hasSuffix("/status") { status = payload }
        if topic.hasSuffix("/mark") { hasMark = true }
        guard let seen = Seen(payload) else { return }
        if topic.hasSuffix("/lost"), let first = seen.first, let last = seen.last, let count = seen.count {
            if lost.isDisjoint(with: first...last) { lostCount += count }
            lost.formUnion(first...last)
        }
        guard let sequence = seen.sequence, let epoch = seen.epoch else { return }
        if topic.hasSuffix("/end") { hasEnded = true }
        if seen.history == true { history += 1 }
        values += 1
        if let number = seen.n, UInt64(number) + 1 != sequence { wrong += 1 }
        let content = seen.value ?? "\(seen.n ?? -1)"
        guard let known = payloads.updateValue(content, forKey: Key(epoch: epoch, sequence: sequence)) else { return }
        duplicates += 1
        if seen.redelivered != true { unmarked += 1 }
        if known != content { wrong += 1 }
    }
}
