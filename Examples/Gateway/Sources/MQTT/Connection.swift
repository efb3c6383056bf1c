import CMosquitto
import Glibc

/// One connection to a broker, from the first octet to the last. A new connection is a new one of these, so nothing of
/// an old one is repeated behind the outbox's back.
struct Connection: ~Copyable {
    private let client: OpaquePointer
    private let inbox: CallbackInbox
    private let broker: String
    /// The subscriptions that the broker hasn't confirmed.
    private var subscriptions: [Int32: String] = [:]
    /// The most octets of a packet that the broker takes.
    var largestPacket = Int.max

    /// Begins to connect. Looking up the broker's name blocks; everything after doesn't.
    ///
    /// - Parameters:
    ///   - will: the last will, in place of that of the settings.
    ///   - failures: how many attempts have failed so far; see ``AddressKind``.
    static func open(
        _ settings: MQTTSettings,
        will: MQTTDelayedWill?,
        failures: Int = 0
    ) throws(MQTTError) -> Connection {
        let (broker, inbox) = (
            "\(settings.host):\(settings.port)", CallbackInbox(largestMessage: settings.largestMessage)
        )
        Library.prepare()
        guard let client = mosquitto_new(settings.clientID, true, Unmanaged.passUnretained(inbox).toOpaque()) else {
            throw MQTTError(
                code: .invalidSettings,
                operation: "connect",
                object: broker,
                cause: String(cString: strerror(errno)),
                remedy: "Check the client's name."
            )
        }
        // From here on, releasing the connection releases the client.
        let connection = Connection(client: client, inbox: inbox, broker: broker)
        CallbackInbox.listen(to: client)
        try configure(client, settings, broker)
        if let will = will ?? settings.will.map({ MQTTDelayedWill($0, delay: 0) }) { try leave(will, client, broker) }
        let seconds = Int32(clamping: max(5, settings.keepAlive.components.seconds))
        let port = Int32(clamping: settings.port)
        let local = AddressKind.localAddress(after: failures) { AddressKind.kinds(of: settings.host) }
        try check(mosquitto_connect_bind_async(client, settings.host, port, seconds, local), "connect", broker)
        return connection
    }

    private init(client: OpaquePointer, inbox: CallbackInbox, broker: String) {
        self.client = client
        self.inbox = inbox
        self.broker = broker
    }

    deinit { mosquitto_destroy(client) }

    private static func configure(
        _ client: OpaquePointer,
        _ settings: MQTTSettings,
        _ broker: String
    ) throws(MQTTError) {
        let options: [(mosq_opt_t, Int32)] = [
            (MOSQ_OPT_PROTOCOL_VERSION, Int32(MQTT_PROTOCOL_V5)), (MOSQ_OPT_TCP_NODELAY, 1),
            (MOSQ_OPT_RECEIVE_MAXIMUM, Int32(clamping: settings.receiveMaximum)),
            (MOSQ_OPT_SEND_MAXIMUM, Int32(clamping: settings.inFlight)),
        ]
        for (option, value) in options { try check(mosquitto_int_option(client, option, value), "configure", broker) }
        if let login = settings.login {
            try check(mosquitto_username_pw_set(client, login.user, login.password), "configure", broker)
        }
        if let files = settings.security { try secure(client, files) }
    }

    private static func leave(
        _ will: MQTTDelayedWill,
        _ client: OpaquePointer,
        _ broker: String
    ) throws(MQTTError) {
        var (delay, expiry): (OpaquePointer?, OpaquePointer?)
        defer { mosquitto_property_free_all(&expiry) }
        if will.delay > 0 {
            let (seconds, object) = (UInt32(clamping: will.delay), "the delay of the last will")
            let interval = Int32(MQTT_PROP_WILL_DELAY_INTERVAL.rawValue)
            try check(mosquitto_property_add_int32(&delay, interval, seconds), "configure", object)
            let session = Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue)
            try check(mosquitto_property_add_int32(&expiry, session, seconds), "configure", object)
            // The only call that takes properties for CONNECT also connects, and blocks. It keeps the properties for
            // the calls after it, and then refuses this time for the keep-alive before it does anything.
            mosquitto_connect_bind_v5(client, "", 1, 1, nil, expiry)
        }
        let message = will.message
        let result = mosquitto_will_set_v5(
            client,
            message.topic,
            Int32(message.payload.count),
            message.payload,
            1,
            message.isRetained,
            delay
        )
        // From here on, they belong to the client.
        if result != MOSQ_ERR_SUCCESS.rawValue { mosquitto_property_free_all(&delay) }
        try check(result, "configure", "the last will on \(message.topic)")
    }

    private static func secure(_ client: OpaquePointer, _ files: MQTTSecurity) throws(MQTTError) {
        let paths = [files.authorities, files.certificate, files.key].compactMap(\.self)
        for path in paths where access(path, R_OK) != 0 {
            throw MQTTError(
                code: .security,
                operation: "configure TLS",
                object: path,
                cause: String(cString: strerror(errno)),
                remedy: "Check the path, and that this program may read the file."
            )
        }
        // Without a callback, OpenSSL would ask the terminal for the password of the key, and wait.
        let (authorities, certificate, key) = (files.authorities, files.certificate, files.key)
        let result = mosquitto_tls_set(client, authorities, nil, certificate, key) { _, _, _, _ in -1 }
        try check(result, "configure TLS", files.authorities)
    }

    // MARK: - The event loop's side

    /// The socket; `nil` if there is none.
    var socket: Int32? {
        let descriptor = mosquitto_socket(client)
        return descriptor < 0 ? nil : descriptor
    }

    /// Whether something waits to be written.
    var wantsToWrite: Bool { mosquitto_want_write(client) }

    func read() throws(MQTTError) { try Self.check(mosquitto_loop_read(client, 1), "receive", broker) }
    func write() throws(MQTTError) { try Self.check(mosquitto_loop_write(client, 1), "send", broker) }

    /// Keeps the connection alive, and notices if it is not.
    func tick() throws(MQTTError) { try Self.check(mosquitto_loop_misc(client), "keep alive", broker) }

    /// Does something with it.
    func perform(_ call: (borrowing Connection) throws(MQTTError) -> Void) throws(MQTTError) { try call(self) }

    /// What was reported during the calls so far.
    func reports() -> [CallbackInbox.Report] { inbox.take() }

    /// Whether something was reported that nobody has taken.
    var hasReports: Bool { !inbox.isEmpty }

    // MARK: - Requests

    /// Sends a message.
    ///
    /// - Returns: the identifier that its acknowledgement carries; at QoS 0 that comes at once.
    func publish(_ message: MQTTMessage) throws(MQTTError) -> Int32 {
        // libmosquitto counts an octet too few, and ends the process where it notices that. Source: libmosquitto,
        // `mosquitto_publish_v5`, `send__real_publish`.
        if message.packetSize > largestPacket {
            try Self.check(Int32(MOSQ_ERR_OVERSIZE_PACKET.rawValue), "publish", message.topic)
        }
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        try Self.add(message, to: &properties)
        var identifier: Int32 = 0
        let result = mosquitto_publish_v5(
            client,
            &identifier,
            message.topic,
            Int32(message.payload.count),
            message.payload,
            message.quality.rawValue,
            message.isRetained,
            properties
        )
        try Self.check(result, "publish", message.topic)
        return identifier
    }

    private static func add(_ message: MQTTMessage, to properties: inout OpaquePointer?) throws(MQTTError) {
        if let type = message.contentType {
            let property = Int32(MQTT_PROP_CONTENT_TYPE.rawValue)
            try check(mosquitto_property_add_string(&properties, property, type), "publish", message.topic)
        }
        if let topic = message.responseTopic {
            let property = Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue)
            try check(mosquitto_property_add_string(&properties, property, topic), "publish", message.topic)
        }
        if let data = message.correlationData, let count = UInt16(exactly: data.count) {
            let property = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)
            try check(mosquitto_property_add_binary(&properties, property, data, count), "publish", message.topic)
        }
    }

    mutating func subscribe(to topic: String) throws(MQTTError) {
        var identifier: Int32 = 0
        try Self.check(mosquitto_subscribe_v5(client, &identifier, topic, 1, 0, nil), "subscribe", topic)
        subscriptions[identifier] = topic
    }

    /// The broker has answered: the topic of the subscription.
    mutating func settle(subscription identifier: Int32) -> String? { subscriptions.removeValue(forKey: identifier) }

    func unsubscribe(from topic: String) throws(MQTTError) {
        try Self.check(mosquitto_unsubscribe_v5(client, nil, topic, nil), "unsubscribe", topic)
    }

    /// Says farewell; the broker publishes the last will only if that is wanted.
    func disconnect(publishingWill: Bool) throws(MQTTError) {
        let reason = publishingWill ? MQTT_RC_DISCONNECT_WITH_WILL_MSG : MQTT_RC_NORMAL_DISCONNECTION
        try Self.check(mosquitto_disconnect_v5(client, Int32(reason.rawValue), nil), "disconnect", broker)
    }
}

extension Connection {
    /// The error of a call of libmosquitto, if it failed.
    private static func check(_ result: Int32, _ operation: String, _ object: String) throws(MQTTError) {
        guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
        let number = errno
        let code: MQTTError.Code
        var cause = String(cString: mosquitto_strerror(result))
        // The sentence is part of a longer one.
        if cause.hasSuffix(".") { cause.removeLast() }
        var remedy = "The client connects again."
        switch mosq_err_t(result) {
        case MOSQ_ERR_ERRNO:
            (code, cause) = (.unreachable, String(cString: strerror(number)))
            remedy = "Check that the broker is running, and its address; the client tries again."
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP:
            (code, remedy) = (.unreachable, "Check the broker's name; the client tries again.")
        case MOSQ_ERR_CONN_LOST: (code, remedy) = (.unreachable, MQTTError.afterLoss)
        case MOSQ_ERR_NO_CONN, MOSQ_ERR_KEEPALIVE, MOSQ_ERR_CONN_REFUSED: code = .unreachable
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE:
            code = .security
            remedy =
                "Check the certificates of both sides, that the key has no password, and that the port expects TLS."
        case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_QOS_NOT_SUPPORTED,
            MOSQ_ERR_RETAIN_NOT_SUPPORTED:
            (code, remedy) = (.invalidMessage, "Check the topic and the size of the message, and the broker's limits.")
        case MOSQ_ERR_INVAL:
            code = operation == "publish" || operation == "subscribe" ? .invalidMessage : .invalidSettings
            remedy = "Check the topic, or the settings."
        default: code = .failed
        }
        throw MQTTError(code: code, operation: operation, object: object, cause: cause, remedy: remedy)
    }
}

/// What libmosquitto needs once in a process.
private enum Library {
    private static let isPrepared: Bool = {
        // OpenSSL writes to sockets that the broker has closed; the signal would end the program.
        signal(SIGPIPE, SIG_IGN)
        return mosquitto_lib_init() == MOSQ_ERR_SUCCESS.rawValue
    }()

    static func prepare() { _ = isPrepared }
}
