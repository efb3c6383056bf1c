import BLEProtocol

/// What has become of the notifications for one central, over all characteristics, since it connected.
///
/// Each was sent, was dropped or waits: nothing else can become of one. A value that an error kept from the queue, such as
/// ``BLEError/Code/notSupported`` where the central has not subscribed, was never meant for it, and is not counted.
public struct NotificationCounters: Hashable, Sendable {
    /// Values that were meant for it; of those that are sent together each counts.
    public var offered = 0
    /// Values that the radio has taken.
    public var sent = 0
    /// Values that it never gets: there was no room, it took its subscription back, or its link ended before their turn.
    public var dropped = 0

    /// Values that wait for the radio now.
    public var waiting: Int { offered - sent - dropped }

    /// All zero.
    public init() {}

    init(_ counts: ATTServer.NotificationCounts) {
        offered = counts.offered
        sent = counts.sent
        dropped = counts.dropped
    }
}

/// A central has fallen behind with its notifications, or has caught up; see ``PeripheralServer/backlogs``.
public struct CentralBacklog: Sendable {
    /// Which one.
    public let central: ConnectedCentral

    /// Whether a value has found no room in its queue, and older ones wait; `false` as soon as nothing waits any more, and when it
    /// leaves.
    public let isBehind: Bool

    /// What had become of its notifications by then.
    public let counters: NotificationCounters
}
