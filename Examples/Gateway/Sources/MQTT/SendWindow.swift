/// The messages in flight: given to the broker, and not acknowledged.
struct SendWindow {
    /// A message in flight.
    struct Flight {
        /// The outbox's number.
        var token: UInt64
        var topic: String
    }

    /// The most at once.
    var limit: Int
    /// By libmosquitto's numbers.
    private var flights: [Int32: Flight] = [:]

    init(limit: Int) { self.limit = limit }

    var hasRoom: Bool { flights.count < limit }
    var isEmpty: Bool { flights.isEmpty }

    /// Takes a message that was given to libmosquitto.
    ///
    /// - Returns: whether no other one in flight has its number. libmosquitto counts 65,535 messages and begins again,
    ///   whatever the broker still owes: the acknowledgement of one could be taken for that of the other. Source:
    ///   libmosquitto, `mosquitto__mid_generate`; MQTT 5, 2.2.1.
    mutating func sent(_ item: MQTTOutgoing, as identifier: Int32) -> Bool {
        flights.updateValue(Flight(token: item.token, topic: item.message.topic), forKey: identifier) == nil
    }

    /// The message whose acknowledgement came; `nil` if none was in flight under that identifier.
    mutating func settle(_ identifier: Int32) -> Flight? { flights.removeValue(forKey: identifier) }
}
