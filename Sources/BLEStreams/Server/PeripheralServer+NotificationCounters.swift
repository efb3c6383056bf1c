import BLEProtocol

extension PeripheralServer {
    /// The counts of one central's notifications, over all characteristics, since it connected.
    ///
    /// Each notification was sent, was dropped or is waiting. A value that an error kept out of the queue, such as
    /// ``BLEError/Code/notSupported`` for a central that has not subscribed, is not counted.
    public struct NotificationCounters: Hashable, Sendable {
        /// Values offered to it; values that are sent together count separately.
        public var offered = 0
        /// Values that the radio has taken.
        public var sent = 0
        /// Values that it never gets: there was no room, it unsubscribed, or its link ended before their turn.
        public var dropped = 0

        /// Values that are waiting for the radio now.
        public var waiting: Int { offered - sent - dropped }

        init(_ counts: ATTServer.NotificationCounts) {
            offered = counts.offered
            sent = counts.sent
            dropped = counts.dropped
        }
    }

    /// A central has fallen behind with its notifications, or has caught up; see ``PeripheralServer/backlogs``.
    public struct CentralBacklog: Sendable {
        /// The central.
        public let central: ConnectedCentral

        /// Whether its queue had no room for a value and older values are waiting; `false` as soon as none is waiting,
        /// and when it leaves.
        public let isBehind: Bool

        /// The counts of its notifications at that moment.
        public let counters: PeripheralServer.NotificationCounters
    }
}
