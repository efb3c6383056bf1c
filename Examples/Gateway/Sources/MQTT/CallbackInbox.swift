import CMosquitto
import Glibc
import Synchronization

/// What libmosquitto reports during one of its calls. It is handled when the call has returned, so nothing runs inside
/// libmosquitto.
final class CallbackInbox: Sendable {
    enum Report {
        case connected(reason: Int32, BrokerLimits)
        case acknowledged(identifier: Int32, reason: Int32)
        case subscribed(identifier: Int32, reasons: [Int32])
        case received(MQTTMessage)
        /// The payload was too long; the message is without it.
        case tooLarge(MQTTMessage)
        case disconnected(reason: Int32)
    }

    /// Longer payloads are not copied.
    let largestMessage: Int
    private let reports = Mutex<[Report]>([])

    init(largestMessage: Int) { self.largestMessage = largestMessage }

    func put(_ report: Report) { reports.withLock { $0.append(report) } }

    /// Whether nothing was reported since.
    var isEmpty: Bool { reports.withLock { $0.isEmpty } }

    /// Takes everything that was reported.
    func take() -> [Report] {
        reports.withLock { reports in
            defer { reports = [] }
            return reports
        }
    }

    private static func of(_ object: UnsafeMutableRawPointer?) -> CallbackInbox? {
        object.map { Unmanaged<CallbackInbox>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Lets a client report here. The inbox must outlive it.
    static func listen(to client: OpaquePointer) {
        mosquitto_connect_v5_callback_set(client) { _, object, reason, _, properties in
            CallbackInbox.of(object)?.put(.connected(reason: reason, BrokerLimits(properties)))
        }
        mosquitto_publish_v5_callback_set(client) { _, object, identifier, reason, _ in
            CallbackInbox.of(object)?.put(.acknowledged(identifier: identifier, reason: reason))
        }
        mosquitto_subscribe_v5_callback_set(client) { _, object, identifier, count, reasons, _ in
            let reasons = Array(UnsafeBufferPointer(start: reasons, count: max(0, Int(count))))
            CallbackInbox.of(object)?.put(.subscribed(identifier: identifier, reasons: reasons))
        }
        mosquitto_message_v5_callback_set(client) { _, object, message, properties in
            guard let message = message?.pointee, let topic = message.topic else { return }
            guard let inbox = CallbackInbox.of(object) else { return }
            let isTooLarge = message.payloadlen > inbox.largestMessage
            let copy = MQTTMessage(message, topic, properties, isWhole: !isTooLarge)
            inbox.put(isTooLarge ? .tooLarge(copy) : .received(copy))
        }
        mosquitto_disconnect_v5_callback_set(client) { _, object, reason, _ in
            CallbackInbox.of(object)?.put(.disconnected(reason: reason))
        }
    }
}

extension MQTTMessage {
    /// Copies a received message, with its payload if it is whole.
    fileprivate init(
        _ message: mosquitto_message,
        _ topic: UnsafePointer<CChar>,
        _ properties: OpaquePointer?,
        isWhole: Bool
    ) {
        let count = isWhole ? max(0, Int(message.payloadlen)) : 0
        let octets = UnsafeRawBufferPointer(start: message.payload, count: count)
        self.init(String(cString: topic), Array(octets), isRetained: message.retain)
        responseTopic = properties.string(MQTT_PROP_RESPONSE_TOPIC)
        contentType = properties.string(MQTT_PROP_CONTENT_TYPE)
        correlationData = properties.octets(MQTT_PROP_CORRELATION_DATA)
    }
}

extension OpaquePointer? {
    fileprivate func string(_ property: mqtt5_property) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(self, Int32(property.rawValue), &text, false) != nil, let text else {
            return nil
        }
        defer { free(text) }
        return String(cString: text)
    }

    fileprivate func octets(_ property: mqtt5_property) -> [UInt8]? {
        var octets: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        guard mosquitto_property_read_binary(self, Int32(property.rawValue), &octets, &count, false) != nil else {
            return nil
        }
        defer { free(octets) }
        return Array(UnsafeRawBufferPointer(start: octets, count: octets == nil ? 0 : Int(count)))
    }
}
