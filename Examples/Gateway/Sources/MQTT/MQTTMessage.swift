/// A message: a topic and octets.
public struct MQTTMessage: Hashable, Sendable {
    /// The topic.
    public var topic: String
    /// The octets.
    public var payload: [UInt8]
    /// How it is sent; of a received message it says nothing.
    public var quality = MQTTQuality.atLeastOnce
    /// Whether the broker keeps it for later subscribers; of a received message, whether it was kept.
    public var isRetained: Bool
    /// Where a reply is expected (MQTT 5, response topic).
    public var responseTopic: String?
    /// What a reply must carry, so that the asker recognises it (MQTT 5, correlation data).
    public var correlationData: [UInt8]?
    /// The type of the payload, such as `application/json` (MQTT 5, content type).
    public var contentType: String?

    /// Makes a message.
    public init(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
    }
}

/// What a broker does for a message (MQTT 5, quality of service).
public enum MQTTQuality: Int32, Hashable, Sendable {
    /// Nothing (QoS 0): the message counts as acknowledged when it is handed to the connection.
    case atMostOnce = 0
    /// It acknowledges the message (QoS 1).
    case atLeastOnce = 1
}

/// A message to send, and the number by which its outbox knows it.
public struct MQTTOutgoing: Sendable {
    /// The number, unique among the messages that are not acknowledged.
    public var token: UInt64
    /// The message.
    public var message: MQTTMessage

    /// Makes one.
    public init(_ token: UInt64, _ message: MQTTMessage) {
        self.token = token
        self.message = message
    }
}

/// Has the messages that a client sends.
///
/// The client asks for the next message only when it may have one more in flight, so nothing waits in the client. All
/// calls come from the client's queue, one at a time; they may read a disk, and must not wait for the client.
public protocol MQTTOutbox: Sendable {
    /// The broker has accepted the connection.
    func connected()

    /// The next message to send; `nil` if there is none now. When there is one again, call
    /// ``MQTTClient/wake()``.
    func next() -> MQTTOutgoing?

    /// The broker has the message; one that it doesn't acknowledge (QoS 0) is on its way.
    func acknowledged(_ token: UInt64)

    /// The message was not accepted, and repeating it would not help.
    func refused(_ token: UInt64, _ error: MQTTError)

    /// The connection is gone. Messages that are not acknowledged may or may not have arrived.
    func interrupted()
}

/// What happens to a client's connection.
public enum MQTTEvent: Hashable, Sendable {
    /// The broker has accepted the connection; so many messages may be in flight.
    case connected(inFlight: Int)
    /// There is no connection any more, or none could be made; the next attempt follows after this time.
    case disconnected(MQTTError, retryAfter: Duration)
    /// The broker refused a subscription. The client tries again after the longest of its pauses, as long as the
    /// connection lasts.
    case subscriptionRefused(MQTTError)
    /// The client has ended.
    case ended
}
