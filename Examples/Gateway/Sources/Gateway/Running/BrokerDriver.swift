import MQTT

/// Drives machines by what it hears from the broker, on a connection of its own.
protocol BrokerDriver: MQTTFollower, Sendable {
    /// The settings of its connection, made of those of the gateway's.
    func settings(_ broker: MQTTSettings) -> MQTTSettings

    /// The client in use from now on.
    func use(_ client: MQTTClient)
}
