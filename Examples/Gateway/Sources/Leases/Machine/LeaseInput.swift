/// What a gateway tells its machine.
public enum LeaseInput: Equatable, Sendable {
    /// It received the peripheral, with this strength in dBm: an advertisement, or a value on a link.
    case heard(PeripheralID, strength: Int)
    /// It acts on the peripheral, and hasn't been able to use it for ``LeaseTerms/patience``.
    case unreachable(PeripheralID)
    /// It can use the peripheral.
    case reached(PeripheralID)
    /// The broker has accepted a connection with Clean Start, whose will names this session, and the gateway's own
    /// pulse topic is subscribed. All else must be subscribed anew.
    case connected(SessionID)
    /// The connection has ended. It is told before the next CONNECT is sent.
    case disconnected
    /// The broker has confirmed the subscription to a peripheral's topic.
    case subscribed(PeripheralID)
    /// A message on the topic of a peripheral, in the broker's order; retained: what the topic had when it was
    /// subscribed.
    case message(PeripheralID, LeaseMessage, isRetained: Bool)
    /// A will of a gateway: the session is over.
    case gone(GatewayID, SessionID)
    /// The broker has refused a record of the gateway, by its access rules, for instance: it doesn't come back.
    case refused(PeripheralID, Mark)
    /// A pulse came back.
    case pulsed(UInt64)
    /// The reservation is on the disk, and would survive a power cut.
    case stored(UInt64)
    /// The reservation couldn't be stored.
    case storeFailed
    /// A timer has ended.
    case timer(LeaseTimer)
    /// The gateway ends: the machine releases what it has.
    case stop
}

/// What a timer is for. A gateway has one of each.
public enum LeaseTimer: Hashable, Sendable {
    /// For the connection and the disk.
    case link
    /// For one peripheral.
    case peripheral(PeripheralID)
}
