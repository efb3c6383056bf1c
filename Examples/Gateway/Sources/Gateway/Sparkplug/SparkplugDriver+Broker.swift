import MQTT
import Sparkplug
import Spool
import Synchronization

/// The broker's side: all is called on the client's queue, in the broker's order.
extension SparkplugDriver: BrokerDriver {
    /// The client's settings.
    func settings(_ broker: MQTTSettings) -> MQTTSettings {
        var settings = broker
        settings.clientID += "-sparkplug"
        settings.subscriptions = names.subscriptions
        settings.farewellPublishesWill = true
        return settings
    }

    func use(_ client: MQTTClient) { state.withLock { $0.client = client } }

    func will() -> MQTTDelayedWill? {
        let (message, birth) = state.withLock { $0.node.connecting(at: now()) }
        // There is an attempt each minute while the broker is away.
        storing.watch { try births.store(birth) }
        return MQTTDelayedWill(MQTTMessage(message.topic, message.payload.encoded), delay: 0)
    }

    func connected() {
        spool.rewind()
        state.withLock { state in
            state.node.connected()
            state.refusals.begin()
            state.liveFrom = nil
        }
    }

    func interrupted() {
        state.withLock { state in
            state.node.interrupted()
            state.waiting = []
        }
    }

    func nextChange() -> MQTTSubscriptionChange? { nil }

    func subscribed(to topic: String) { state.withLock { $0.node.subscribed(to: topic) } }

    func received(_ message: MQTTMessage) {
        let (request, client) = state.withLock { state in
            (state.node.received(message.topic, message.payload), state.client)
        }
        guard request == .leave else { return }
        report("sparkplug: the host '\(names.primaryHost ?? "")' is offline; values wait until it is online")
        client?.reconnect()
    }

    func next() -> MQTTOutgoing? {
        let now = now()
        do throws(SpoolError) {
            while true {
                // Who asks for a loss is told of it, and the spool begins a new file then. What was dropped on its way is
                // told of when it hasn't arrived.
                guard state.withLock({ $0.isReady }) else { return nil }
                let (loss, dropped, number) = (spool.loss, spool.counts.growing.dropped, spool.nextSequence)
                let (message, isReady) = state.withLock { state in
                    state.nextMessage(at: now, dropped: dropped, isNews: loss != nil, before: number)
                }
                // The number tells of all losses, and each certificate has it: none needs to be told twice.
                if isReady, let loss { try spool.acknowledge(loss) }
                if let message { return message }
                guard isReady else { return nil }
                guard let record = try spool.next() else {
                    guard state.withLock({ $0.makeUp(at: now) }) else { return nil }
                    continue
                }
                state.withLock { $0.failure = nil }
                let content = EdgeRecord(decoding: record.payload)
                let isKnown = state.withLock { state in
                    guard let content else { return false }
                    return !state.put(content, record.sequence, at: now)
                }
                if content == nil { try spool.drop(record.sequence) }
                if isKnown { try spool.acknowledge(record.sequence) }
            }
        } catch {
            let isNew = state.withLock { state in
                defer { state.failure = error }
                return state.failure != error
            }
            if isNew { report("sparkplug: \(error)") }
            return nil
        }
    }

    func acknowledged(_ token: UInt64) {
        guard token & 1 == 0 else { return }
        settling.watch { try spool.acknowledge(token >> 1) }
    }

    func refused(_ token: UInt64, _ error: MQTTError) {
        if let news = state.withLock({ $0.refusals.news(error) }) { report("sparkplug: \(news)") }
        guard token & 1 == 0 else { return }
        settling.watch { try spool.drop(token >> 1) }
    }
}

extension SparkplugDriver.State {
    /// Whether anything may be sent.
    fileprivate var isReady: Bool { !isOver && node.isReady }

    /// What is to be sent before the next record, and whether a record may be sent at all.
    ///
    /// - Parameters:
    ///   - dropped: how many records were dropped so far.
    ///   - isNews: whether the hosts don't know the last of them.
    ///   - next: the number that the next record gets.
    fileprivate mutating func nextMessage(
        at now: UInt64,
        dropped: Int,
        isNews: Bool,
        before next: UInt64
    ) -> (MQTTOutgoing?, isReady: Bool) {
        guard isReady else { return (nil, false) }
        if liveFrom == nil { liveFrom = next }
        if isNews { hasLost = true }
        // Certificates that a host asks for come behind the messages of a record: those are numbered already.
        let certificates = waiting.isEmpty ? node.certificates(at: now, dropped: dropped) : []
        for message in certificates { append(message, token: nil) }
        if isNews, certificates.isEmpty { append(node.tell(dropped: dropped, at: now), token: nil) }
        return (waiting.isEmpty ? nil : waiting.removeFirst(), true)
    }

    /// Takes a record. Its last message acknowledges it.
    ///
    /// - Returns: whether it needs any.
    fileprivate mutating func put(_ record: EdgeRecord, _ sequence: UInt64, at now: UInt64) -> Bool {
        let messages = node.messages(for: record, isHistorical: sequence < liveFrom ?? .max, at: now)
        for message in messages.dropLast() { append(message, token: nil) }
        if let last = messages.last { append(last, token: sequence << 1) }
        return !messages.isEmpty
    }

    /// All records are read: makes up for those that were lost. The values are told of by their number; but a device
    /// whose end was lost would stay alive for the hosts.
    ///
    /// - Returns: whether there is something to send.
    fileprivate mutating func makeUp(at now: UInt64) -> Bool {
        guard hasLost else { return false }
        hasLost = false
        let present = Set(devices.filter { $0.value.isOnline }.keys)
        for message in node.makeUp(for: present, at: now) { append(message, token: nil) }
        return !waiting.isEmpty
    }

    /// - Parameter token: an even number; `nil`: the next odd one.
    private mutating func append(_ message: SparkplugMessage, token: UInt64?) {
        tokens += 1
        var outgoing = MQTTMessage(message.topic, message.payload.encoded)
        outgoing.quality = .atMostOnce
        waiting.append(MQTTOutgoing(token ?? tokens << 1 | 1, outgoing))
    }
}
