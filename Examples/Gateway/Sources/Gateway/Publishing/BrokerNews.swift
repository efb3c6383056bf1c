import MQTT

/// What a person is told of a connection to a broker. A broker that is away for days, or refuses a subscription, is told
/// of once: there is an attempt each minute, and each part has a connection of its own.
struct BrokerNews {
    private let part: String
    /// The most reasons that are remembered.
    private static let limit = 20
    /// Why attempts have failed since the last connection: they may fail in turns, by IPv6 in another way than by IPv4.
    private var reasons: Set<MQTTError> = []
    /// The subscriptions that were refused on this connection.
    private var refused: Set<MQTTError> = []

    /// - Parameter part: what the connection is for.
    init(of part: String) { self.part = part }

    /// What to tell of an event; `nil`: nothing new.
    mutating func news(_ event: MQTTEvent) -> String? {
        switch event {
        case .connected(let inFlight):
            (reasons, refused) = ([], [])
            return "\(part): connected; at most \(inFlight) messages in flight"
        case .disconnected(let error, let pause):
            guard !reasons.contains(error) else { return nil }
            if reasons.count >= Self.limit { reasons = [] }
            reasons.insert(error)
            let seconds = (pause.seconds * 10).rounded() / 10
            return "\(part): \(error) Next attempt in \(seconds) s; the same failure is not reported again."
        case .subscriptionRefused(let error): return refused.insert(error).inserted ? "\(part): \(error)" : nil
        case .ended: return nil
        }
    }
}
