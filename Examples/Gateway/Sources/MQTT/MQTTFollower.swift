/// An outbox whose topics change while the client runs, and that needs the broker's order: it takes each message on the
/// client's queue, before the next one is read.
///
/// All calls come from the client's queue, one at a time, as those of ``MQTTOutbox``. What the client receives goes to
/// the follower, and not to ``MQTTClient/messages``.
public protocol MQTTFollower: MQTTOutbox {
    /// The last will of the connection that is about to be made, and how long the broker waits with it; `nil`: that of
    /// the settings.
    func will() -> MQTTDelayedWill?

    /// The next change of a subscription; `nil` if there is none now. It is asked for before the next message.
    func nextChange() -> MQTTSubscriptionChange?

    /// The broker has confirmed a subscription.
    func subscribed(to topic: String)

    /// The broker has sent a message.
    func received(_ message: MQTTMessage)
}

/// A change of what a client is subscribed to.
public enum MQTTSubscriptionChange: Hashable, Sendable {
    /// Subscribe, at QoS 1.
    case subscribe(String)
    /// Unsubscribe.
    case unsubscribe(String)
}

/// A last will, and how long after the end of the connection the broker publishes it.
public struct MQTTDelayedWill: Hashable, Sendable {
    /// The will.
    public var message: MQTTMessage
    /// The delay in seconds (MQTT 5, will delay interval); the session is kept for as long (session expiry interval),
    /// because its end would publish the will.
    public var delay: Int

    /// Makes a will.
    public init(_ message: MQTTMessage, delay: Int) {
        self.message = message
        self.delay = delay
    }
}
