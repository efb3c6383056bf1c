import CMosquitto

extension MQTTClient {
    /// The words for an MQTT reason code.
    static func words(_ reason: Int32) -> String { String(cString: mosquitto_reason_string(reason)) }
}
