import MQTT

/// What a person is told of the messages that a broker refuses: of each topic once on a connection, since the broker
/// refuses the next value, too, and of some topics only, since each device that advertises has one.
struct Refusals {
    /// The most topics that are told of.
    static let limit = 20

    private var told: Set<String> = []

    /// There is a new connection: the broker may have other rules now.
    mutating func begin() { told = [] }

    /// What to tell of a refusal; `nil`: nothing new.
    mutating func news(_ error: MQTTError) -> String? {
        let line = "\(error)"
        guard told.count <= Self.limit, told.insert(line).inserted else { return nil }
        guard told.count > Self.limit else { return line }
        return "\(error.operation): the broker refuses messages under more topics. \(error.remedy)"
    }
}
