/// An edge node for Sparkplug B: which certificates it owes to the hosts, and what becomes of its records.
///
/// It is a value: what happens goes in, messages come out. The node is born once the broker has confirmed its
/// subscriptions and the primary host is there. A record that names a device which is not born, or a metric that its
/// certificate doesn't have, first brings a new certificate of the device. Source: Sparkplug 3.0, 5 and 6.
public struct EdgeNode: Hashable, Sendable {
    private static let (births, rebirth, dropped) = ("bdSeq", "Node Control/Rebirth", "Records/dropped")

    /// What a message from the broker asks for.
    public enum Request: Hashable, Sendable {
        /// Say farewell, let the broker publish the death certificate, and connect again: the primary host is gone.
        case leave
    }

    private let names: SparkplugNames
    /// The number of the present connection's certificates, and of the next one's.
    private var birth: UInt8
    private var nextBirth: UInt8
    private var missing: Set<String>
    private var host: HostState?
    private var isConnected = false
    private var isBorn = false
    /// Whether the hosts have a certificate of the present connection, though a host may have asked for another one.
    private var isAlive = false
    private var sequence: UInt8 = 0
    private var devices: [String: EdgeDevice] = [:]

    /// Makes a node.
    ///
    /// - Parameters:
    ///   - names: the node's.
    ///   - birth: the number of the first connection's certificates: one more than the last that was used.
    public init(_ names: SparkplugNames, birth: UInt8) {
        self.names = names
        (self.birth, nextBirth) = (birth, birth)
        missing = Set(names.subscriptions)
    }

    /// Whether records can be sent.
    public var isReady: Bool {
        isConnected && missing.isEmpty && (names.primaryHost == nil || host?.online == true)
    }

    // MARK: - The connection

    /// A connection is about to be made: the last will, to be sent at QoS 1, with the number of this connection.
    public mutating func connecting(at now: UInt64) -> (will: SparkplugMessage, birth: UInt8) {
        (birth, nextBirth) = (nextBirth, nextBirth &+ 1)
        let metric = SparkplugMetric(Self.births, .unsigned(UInt64(birth)), at: now)
        return (SparkplugMessage(names.nodeDeath, SparkplugPayload(timestamp: now, metrics: [metric])), birth)
    }

    /// The broker has accepted the connection.
    public mutating func connected() { isConnected = true }

    /// The connection is gone, and with it the certificates.
    public mutating func interrupted() {
        (isConnected, isBorn, isAlive, host) = (false, false, false, nil)
        missing = Set(names.subscriptions)
        die()
    }

    /// The broker has confirmed a subscription.
    public mutating func subscribed(to topic: String) { missing.remove(topic) }

    /// The broker has sent a message.
    ///
    /// - Returns: what the node must do.
    public mutating func received(_ topic: String, _ octets: [UInt8]) -> Request? {
        if topic == names.hostState {
            // What is older than the last word is from a connection of the host that is over.
            guard let state = HostState(json: octets), state.timestamp >= host?.timestamp ?? 0 else { return nil }
            defer { host = state }
            return isAlive && !state.online ? .leave : nil
        }
        guard topic == names.nodeCommand, let payload = try? SparkplugPayload(decoding: octets) else { return nil }
        if payload.metrics.contains(where: { $0.name == Self.rebirth && $0.value == .boolean(true) }) {
            isBorn = false
            die()
        }
        return nil
    }

    private mutating func die() { for name in devices.keys { devices[name]?.isBorn = false } }

    // MARK: - Messages

    /// The certificates that are due: the node's, then those of all devices that are there. None while it isn't ready.
    ///
    /// - Parameter dropped: how many records were dropped so far.
    public mutating func certificates(at now: UInt64, dropped: Int = 0) -> [SparkplugMessage] {
        guard isReady, !isBorn else { return [] }
        (isBorn, isAlive, sequence) = (true, true, 0)
        let metrics = [
            SparkplugMetric(Self.births, .unsigned(UInt64(birth)), at: now),
            SparkplugMetric(Self.rebirth, .boolean(false), at: now), droppedMetric(dropped, now),
        ]
        let birth = message(names.nodeBirth, metrics, now)
        let online = devices.filter(\.value.isOnline).keys.sorted()
        return [birth] + online.map { bear($0, now) }
    }

    /// Tells how many records were dropped so far; the node is born.
    public mutating func tell(dropped: Int, at now: UInt64) -> SparkplugMessage {
        message(names.nodeData, [droppedMetric(dropped, now)], now)
    }

    private func droppedMetric(_ count: Int, _ now: UInt64) -> SparkplugMetric {
        SparkplugMetric(Self.dropped, .unsigned(UInt64(max(0, count))), at: now)
    }

    /// The messages for a record; none if the hosts know it already.
    ///
    /// - Parameters:
    ///   - record: the next one; the node is ready.
    ///   - isHistorical: whether it was recorded before the node could send it: before it was ready on this connection.
    public mutating func messages(
        for record: EdgeRecord,
        isHistorical: Bool,
        at now: UInt64
    ) -> [SparkplugMessage] {
        switch record {
        case .started: return devices.filter(\.value.isOnline).keys.sorted().flatMap { leave($0, now) }
        case .online(let device):
            devices[device, default: EdgeDevice()].isOnline = true
            return devices[device]?.isBorn == true ? [] : [bear(device, now)]
        case .offline(let device): return leave(device, now)
        case .values(let device, let metrics):
            devices[device, default: EdgeDevice()].isOnline = true
            let hasAll = devices[device, default: EdgeDevice()].declare(metrics)
            let births = hasAll && devices[device]?.isBorn == true ? [] : [bear(device, now)]
            devices[device]?.note(metrics)
            var metrics = metrics
            for index in metrics.indices { metrics[index].isHistorical = isHistorical }
            return births + [message(names.data(of: device), metrics, now)]
        }
    }

    /// The messages that make up for lost records: all others have been sent, and a lost one may have said that a
    /// device is gone, or there.
    ///
    /// - Parameters:
    ///   - present: the devices that are there now; the node is born.
    ///   - now: the time in milliseconds since 1970.
    public mutating func makeUp(for present: Set<String>, at now: UInt64) -> [SparkplugMessage] {
        let gone = devices.filter { $0.value.isOnline && !present.contains($0.key) }.keys.sorted()
        let come = present.filter { devices[$0]?.isOnline != true }.sorted()
        let deaths = gone.flatMap { leave($0, now) }
        return deaths + come.flatMap { messages(for: .online($0), isHistorical: false, at: now) }
    }

    private mutating func message(_ topic: String, _ metrics: [SparkplugMetric], _ now: UInt64) -> SparkplugMessage {
        defer { sequence &+= 1 }
        return SparkplugMessage(topic, SparkplugPayload(timestamp: now, metrics: metrics, sequence: sequence))
    }

    /// A device's certificate, with what it has sent last.
    private mutating func bear(_ device: String, _ now: UInt64) -> SparkplugMessage {
        devices[device]?.isBorn = true
        return message(names.birth(of: device), devices[device]?.metrics ?? [], now)
    }

    private mutating func leave(_ device: String, _ now: UInt64) -> [SparkplugMessage] {
        guard var state = devices[device] else { return [] }
        let wasBorn = state.isBorn
        (state.isOnline, state.isBorn) = (false, false)
        devices[device] = state
        return wasBorn ? [message(names.death(of: device), [], now)] : []
    }
}
