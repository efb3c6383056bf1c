import MQTT
import Spool
import Synchronization

/// What the gateway has for the broker: replies and retained messages at once, then the spool in order.
///
/// A retained message is state: the newest of a topic is enough, and all are sent again on each connection. A reply is
/// for who asked: if the connection is lost, it is dropped. Everything else is in the spool.
final class Outbox: MQTTOutbox {
    /// The most retained topics: two for each peripheral of the largest configuration, and what Home Assistant needs.
    private static let retainedLimit = 2 * Configuration.listLimit + HomeAssistant.limit + 96
    /// The most replies that wait, if all states do.
    private static let limit = 1024

    private struct State {
        var retained: [String: MQTTMessage] = [:]
        var pending: ArraySlice<MQTTMessage> = []
        /// The topics of states that are being removed.
        var removals: [UInt64: String] = [:]
        var flights = 0
        var losses: [UInt64: SpoolLoss] = [:]
        var reportedLoss: SpoolLoss?
        /// What has a lower number was not published when it came.
        var liveFrom: UInt64 = 0
        /// Why the spool couldn't be read last, if that is so still; each reason is reported once.
        var failure: SpoolError?
        var refusals = Refusals()
        /// The topics of states that the broker has refused, or the removal of.
        var refused: Set<String> = []
        var isConnected = false
        var isOver = false
        var counts = OutboxCounts()

        /// Whether the broker has all that was said of a state, and the last of it is that there is none. A state that
        /// came back, and was removed again, leaves a removal behind the one that is acknowledged.
        func isRemoved(_ topic: String) -> Bool {
            retained[topic]?.payload.isEmpty == true && !removals.values.contains(topic)
                && !pending.contains { $0.topic == topic }
        }
    }

    let spool: Spool
    private let prefix: String
    private let report: @Sendable (String) -> Void
    /// What is settled can't be written to the spool.
    private let settling: LastingError
    private let state = Mutex(State())

    /// - Parameters:
    ///   - prefix: of the topics.
    ///   - report: is told of errors.
    init(_ spool: Spool, prefix: String, report: @escaping @Sendable (String) -> Void) {
        self.spool = spool
        self.prefix = prefix
        self.report = report
        settling = LastingError(report)
    }

    var counts: OutboxCounts { state.withLock { $0.counts } }
    var isConnected: Bool { state.withLock { $0.isConnected } }

    // MARK: - The gateway's side

    /// Sets the state of a topic.
    func retain(_ message: MQTTMessage) {
        state.withLock { state in
            guard state.retained[message.topic] != nil || state.retained.count < Self.retainedLimit else {
                state.counts.dropped += 1
                return
            }
            Self.put(message, &state)
        }
    }

    /// Takes over a state that the broker has by an earlier run of the gateway: it can be removed as those of this one.
    func adopt(_ message: MQTTMessage) {
        state.withLock { state in
            // Without a payload, it would be a removal.
            guard !message.payload.isEmpty, state.retained[message.topic] == nil,
                state.retained.count < Self.retainedLimit
            else { return }
            state.retained[message.topic] = message
        }
    }

    /// Whether a topic has a state.
    func hasState(_ topic: String) -> Bool { state.withLock { $0.retained[topic] != nil } }

    /// Removes the state of a topic, here and at the broker.
    func remove(_ topic: String) {
        state.withLock { state in
            guard state.retained[topic]?.payload.isEmpty == false else { return }
            Self.put(MQTTMessage(topic, [], isRetained: true), &state)
        }
    }

    private static func put(_ message: MQTTMessage, _ state: inout State) {
        state.retained[message.topic] = message
        guard state.isConnected else { return }
        state.pending.append(message)
        // A topic that changes faster than the broker takes it: the newest is enough.
        guard state.pending.count > retainedLimit + limit else { return }
        state.pending = state.pending.filter { !$0.isRetained } + state.retained.values
    }

    /// Sends the states again that the broker has refused: its access rules may have been corrected.
    func repeatRefused() {
        state.withLock { state in
            guard state.isConnected else { return }
            let again = state.refused.sorted().compactMap { state.retained[$0] }
            state.refused = []
            state.pending += again
        }
    }

    /// Sends a reply, unless there is no connection or too many wait.
    func reply(_ message: MQTTMessage) {
        state.withLock { state in
            if state.isConnected, state.pending.count < Self.retainedLimit + Self.limit {
                state.pending.append(message)
            } else {
                state.counts.dropped += 1
            }
        }
    }

    /// Sends no more from the spool.
    func end() { state.withLock { $0.isOver = true } }

    // MARK: - The client's side

    func connected() {
        spool.rewind()
        state.withLock { state in
            state.isConnected = true
            state.refusals.begin()
            state.refused = []
            state.liveFrom = spool.nextSequence
            state.pending = ArraySlice(state.retained.values)
        }
    }

    func interrupted() {
        state.withLock { state in
            state.isConnected = false
            state.pending = []
            state.removals = [:]
            state.losses = [:]
            state.reportedLoss = nil
        }
    }

    func next() -> MQTTOutgoing? {
        let isOver: Bool
        switch state.withLock({ Self.takePending(&$0) }) {
        case .send(let item): return item
        case .over: isOver = true
        case .none: isOver = false
        }
        if isOver { return nil }
        if let loss = nextLoss() { return loss }
        do throws(SpoolError) {
            while let record = try spool.next() {
                state.withLock { $0.failure = nil }
                if let item = outgoing(record) { return item }
                try spool.drop(record.sequence)
            }
        } catch {
            let isNew = state.withLock { state in
                defer { state.failure = error }
                return state.failure != error
            }
            if isNew { report("\(error)") }
        }
        return nil
    }

    private enum Pending {
        case send(MQTTOutgoing)
        case over
        case none
    }

    private static func takePending(_ state: inout State) -> Pending {
        guard !state.pending.isEmpty else { return state.isOver ? .over : .none }
        state.flights += 1
        // Odd numbers are for these, even ones for the spool.
        let (token, message) = (UInt64(state.flights) << 1 | 1, state.pending.removeFirst())
        if message.isRetained, message.payload.isEmpty { state.removals[token] = message.topic }
        return .send(MQTTOutgoing(token, message))
    }

    /// Dropped records, as a message of their own.
    private func nextLoss() -> MQTTOutgoing? {
        guard let loss = spool.loss else { return nil }
        return state.withLock { state in
            guard state.reportedLoss == nil else { return nil }
            state.reportedLoss = loss
            state.flights += 1
            let token = UInt64(state.flights) << 1 | 1
            state.losses[token] = loss
            let members = JSONText.object(
                ("first", .number(Int(loss.first))),
                ("last", .number(Int(loss.last))),
                ("count", .number(loss.count))
            )
            return MQTTOutgoing(token, .json("\(prefix)/lost", members.octets))
        }
    }

    private func outgoing(_ record: SpoolRecord) -> MQTTOutgoing? {
        let isHistory = state.withLock { record.sequence < $0.liveFrom }
        var members: [(String, JSONText)] = [
            ("sequence", .number(Int(record.sequence))), ("epoch", .number(Int(record.epoch))),
        ]
        if record.isRedelivered { members.append(("redelivered", .bool(true))) }
        if isHistory { members.append(("history", .bool(true))) }
        guard let (topic, payload) = Entry.decoded(record.payload, adding: members) else { return nil }
        return MQTTOutgoing(record.sequence << 1, .json(topic, payload))
    }

    func acknowledged(_ token: UInt64) {
        if token & 1 == 0 { return settling.watch { try spool.acknowledge(token >> 1) } }
        let loss = state.withLock { state in
            if let topic = state.removals.removeValue(forKey: token), state.isRemoved(topic) {
                state.retained[topic] = nil
            }
            let loss = state.losses.removeValue(forKey: token)
            if loss != nil { state.reportedLoss = nil }
            return loss
        }
        if let loss { settling.watch { try spool.acknowledge(loss) } }
    }

    func refused(_ token: UInt64, _ error: MQTTError) {
        let news = state.withLock { state in
            state.counts.refused += 1
            if token & 1 == 1, state.retained[error.object] != nil {
                state.refused.insert(error.object)
                // The broker has the state still.
                state.removals[token] = nil
            }
            return state.refusals.news(error)
        }
        if let news { report(news) }
        if token & 1 == 1 { return acknowledged(token) }
        settling.watch { try spool.drop(token >> 1) }
    }
}

/// What an outbox could not send.
struct OutboxCounts: Hashable {
    /// Messages that the broker refused.
    var refused = 0
    /// Replies and states that were dropped: there was no connection, or no room.
    var dropped = 0
}

extension MQTTMessage {
    /// A message with a JSON object.
    static func json(_ topic: String, _ octets: [UInt8], isRetained: Bool = false) -> MQTTMessage {
        var message = MQTTMessage(topic, octets, isRetained: isRetained)
        message.contentType = "application/json"
        return message
    }
}
