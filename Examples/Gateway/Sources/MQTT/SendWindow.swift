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

    mutating func sent(_ item: MQTTOutgoing, as identifier: Int32) {
        flights[identifier] = Flight(token: item.token, topic: item.message.topic)
    }

    /// The message whose acknowledgement came; `nil` if none was in flight under that identifier.
    mutating func settle(_ identifier: Int32) -> Flight? { flights.removeValue(forKey: identifier) }
}
