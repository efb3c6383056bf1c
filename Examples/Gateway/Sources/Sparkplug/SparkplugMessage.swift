/// A message of an edge node, to be sent at QoS 0 and not retained.
public struct SparkplugMessage: Hashable, Sendable {
    /// The topic.
    public var topic: String
    /// The payload.
    public var payload: SparkplugPayload

    /// Makes one.
    public init(_ topic: String, _ payload: SparkplugPayload) { (self.topic, self.payload) = (topic, payload) }
}

/// The names of an edge node, and its topics. Source: Sparkplug 3.0, 4.1 (Topic namespace elements).
public struct SparkplugNames: Hashable, Sendable {
    private static let namespace = "spBv1.0"

    /// The group, one level of a topic.
    public var group: String
    /// The edge node, one level of a topic, and unique in its group.
    public var node: String
    /// The host without which nothing is sent; `nil`: whatever comes is sent.
    public var primaryHost: String?

    /// Names an edge node.
    public init(group: String, node: String, primaryHost: String? = nil) {
        (self.group, self.node, self.primaryHost) = (group, node, primaryHost)
    }

    var nodeBirth: String { topic("NBIRTH") }
    var nodeData: String { topic("NDATA") }
    var nodeDeath: String { topic("NDEATH") }
    func birth(of device: String) -> String { topic("DBIRTH", device) }
    func data(of device: String) -> String { topic("DDATA", device) }
    func death(of device: String) -> String { topic("DDEATH", device) }

    /// Where hosts send commands for the node.
    public var nodeCommand: String { topic("NCMD") }

    /// Where the primary host says whether it is there.
    public var hostState: String? { primaryHost.map { "\(Self.namespace)/STATE/\($0)" } }

    /// What to subscribe to: all of them, before the node's birth.
    public var subscriptions: [String] { [nodeCommand] + [hostState].compactMap(\.self) }

    private func topic(_ type: String, _ device: String? = nil) -> String {
        [Self.namespace, group, type, node, device].compactMap(\.self).joined(separator: "/")
    }
}
