extension MQTTError {
    /// The broker has refused the connection.
    ///
    /// - Parameter reason: the reason code of its CONNACK. Source: MQTT 5, 3.2.2.2.
    static func refused(_ reason: Int32, by broker: String) -> MQTTError {
        MQTTError(
            code: .refused(reason: Int(reason)),
            operation: "connect",
            object: broker,
            cause: MQTTClient.words(reason),
            remedy: "\(remedy(for: reason)); the client tries again."
        )
    }

    private static func remedy(for reason: Int32) -> String {
        switch reason {
        case 0x84: "Use a broker that speaks MQTT 5, and let it accept this version"
        case 0x85: "Check the client ID"
        case 0x86, 0x87, 0x8C: "Check the name, the password and the certificate"
        case 0x88, 0x89, 0x97, 0x9F: "Check the load of the broker and its limits"
        case 0x8A: "Check the log of the broker: it has banned this client"
        case 0x90, 0x95, 0x99: "Check what the broker allows as the last will of this client"
        case 0x9A: "Let the broker keep retained messages: the last will is one"
        case 0x9B: "Let the broker take messages at QoS 1: the last will is one"
        case 0x9C, 0x9D: "Use the server that the broker names in its log or its documentation"
        default: "Check the log of the broker"
        }
    }
}
