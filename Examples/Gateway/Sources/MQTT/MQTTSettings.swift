/// Which broker, and how a client behaves towards it.
public struct MQTTSettings: Hashable, Sendable {
    /// The broker's name or address.
    public var host: String
    /// The broker's port.
    public var port: Int
    /// The client's name; the broker drops an older connection of the same name.
    public var clientID: String
    /// The name and the password to log in with.
    public var login: MQTTLogin?
    /// The certificates; `nil`: without TLS.
    public var security: MQTTSecurity?
    /// What the broker publishes when the client is gone without a farewell.
    public var will: MQTTMessage?
    /// Whether the broker publishes the last will after a farewell, too (MQTT 5, disconnect with will message).
    public var farewellPublishesWill = false
    /// The topics to subscribe to, at QoS 1, on each connection.
    public var subscriptions: [String] = []
    /// The most messages in flight; less if the broker's receive maximum is.
    public var inFlight = 64
    /// The most messages that the broker may have in flight to this client.
    public var receiveMaximum = 32
    /// The most received messages that wait for the program; what comes then is dropped and counted.
    public var inboxLimit = 256
    /// The most octets of a received message. Longer ones are counted as dropped; a follower doesn't get them, and
    /// ``MQTTClient/messages`` has them without their octets, so that who expects a reply can have one.
    public var largestMessage = 64 << 10
    /// After how long without traffic the client asks whether the broker is still there; whole seconds, at least 5.
    public var keepAlive: Duration = .seconds(30)
    /// Until the broker must have accepted the connection.
    public var connectTimeout: Duration = .seconds(10)
    /// Until the last messages must be acknowledged when the client ends.
    public var farewellTimeout: Duration = .seconds(5)
    /// The pauses between attempts to connect. They begin anew when a connection has held for as long as the longest.
    public var backoff = Backoff()

    /// Settings for a broker.
    public init(host: String, port: Int = 1883, clientID: String) {
        self.host = host
        self.port = port
        self.clientID = clientID
    }
}

/// A name and a password.
public struct MQTTLogin: Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public var user: String
    /// The password; `nil`: none.
    public var password: String?

    /// Makes a login.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// The name; never the password.
    public var description: String { user }
}

/// The files of TLS, in PEM.
public struct MQTTSecurity: Hashable, Sendable {
    /// The certificates of the authorities that the broker's certificate may come from.
    public var authorities: String
    /// The client's certificate.
    public var certificate: String?
    /// The client's private key, without a password.
    public var key: String?

    /// Makes them; a certificate and a key only together.
    public init(authorities: String, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }
}
