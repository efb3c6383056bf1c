import CMosquitto

/// What a broker takes, as it says when it accepts a connection.
struct BrokerLimits: Hashable, Sendable {
    /// The most messages that it hasn't acknowledged.
    let receiveMaximum: Int
    /// The most octets of a packet.
    let largestPacket: Int

    /// Those of the properties of its answer (MQTT 5, 3.2.2.3); without properties there is no limit.
    init(_ properties: OpaquePointer?) {
        var messages: UInt16 = .max
        mosquitto_property_read_int16(properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &messages, false)
        var octets: UInt32 = 0
        mosquitto_property_read_int32(properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &octets, false)
        receiveMaximum = Int(messages)
        largestPacket = octets == 0 ? .max : Int(octets)
    }
}

extension MQTTMessage {
    /// The octets of the packet by which it is sent (MQTT 5, 3.3).
    var packetSize: Int {
        let correlation = correlationData.flatMap { UInt16(exactly: $0.count) }.map(Int.init)
        let lengths = [contentType?.utf8.count, responseTopic?.utf8.count, correlation].compactMap(\.self)
        // Each property has an octet for its kind, and its length, as a topic has, in two.
        let properties = lengths.reduce(0) { $0 + 3 + $1 }
        let identifier = quality == .atMostOnce ? 0 : 2
        let rest = 2 + topic.utf8.count + identifier + Self.octets(properties) + properties + payload.count
        return 1 + Self.octets(rest) + rest
    }

    /// How many octets a length takes that is written in as few as possible (MQTT 5, 1.5.5).
    private static func octets(_ length: Int) -> Int {
        switch length {
        case ..<128: 1
        case ..<16_384: 2
        case ..<2_097_152: 3
        default: 4
        }
    }
}
