/// What a server keeps for one client: its subscriptions, its features, what it knows about the database, and the
/// writes that it has prepared.
///
/// It outlives the connection if the client is bonded: take it from the ``ATTServer`` that has ended, and pass it to
/// the next one. For any other client, make a new one (Core Specification, Vol 3, Part G, 3.3.3.3).
package struct ServerClient: Hashable, Sendable {
    /// The values of the Client Characteristic Configurations that are not zero, by the characteristic's value handle.
    package private(set) var configurations: [UInt16: UInt16]

    /// The features that the client has declared.
    package internal(set) var features: GATTClientFeatures

    /// Whether the program has authorized the client.
    package internal(set) var isAuthorized = false

    /// Whether the client knows the database as it is now, as far as the server can tell.
    package internal(set) var isChangeAware = true

    /// The version of the database that the client was served from; `nil` before it was.
    var databaseVersion: Int?

    /// The changed handles that the client has not confirmed.
    var unconfirmedChange: ClosedRange<UInt16>?

    /// One queue for the client, for all its bearers (Vol 3, Part F, 3.4.6).
    var preparedWrites = PreparedWriteQueue()

    /// Makes a client's state: a new client's, or a bonded one's with its earlier configuration.
    package init(configurations: [UInt16: UInt16] = [:], features: GATTClientFeatures = []) {
        self.configurations = configurations.filter { $0.value != 0 }
        self.features = features
    }

    /// The same client, which returns to a database that has changed: its configuration no longer applies, except the
    /// subscription to Service Changed.
    package func returning(to database: AttributeDatabase) -> ServerClient {
        let changed = database.serviceChanged?.valueHandle
        var client = ServerClient(configurations: configurations.filter { $0.key == changed }, features: features)
        client.isChangeAware = false
        if !client.configurations.isEmpty { client.unconfirmedChange = 0x0001...0xFFFF }
        return client.served(from: database)
    }

    /// The same client, which is told of each change of the database from now on: before its next PDU the services may
    /// be replaced.
    package func served(from database: AttributeDatabase) -> ServerClient {
        var client = self
        client.databaseVersion = database.history.version
        return client
    }

    /// Whether the client is served from the current database, and needs to be told of no change of it.
    ///
    /// Without robust caching and without a subscription to Service Changed nothing ever makes it aware of a change:
    /// what it has configured since then is right nevertheless.
    package func knows(_ database: AttributeDatabase) -> Bool {
        unconfirmedChange == nil && !isOutOfSync
            && (databaseVersion ?? database.history.version) == database.history.version
    }

    /// Whether it is answered Database Out Of Sync, and gets no value, before it learns of a change.
    var isOutOfSync: Bool { !isChangeAware && features.contains(.robustCaching) }

    /// The client's subscription to a characteristic.
    package func subscription(of characteristic: UInt16) -> Subscription {
        Subscription(configuration: configuration(of: characteristic))
    }

    /// Whether the client has subscribed to a characteristic in this way; it may have subscribed in both.
    package func wants(_ kind: Subscription, of characteristic: UInt16) -> Bool {
        let bits = configuration(of: characteristic)
        return switch kind {
        case .none: bits == 0
        case .notify: bits & Subscription.notificationBit != 0
        case .indicate: bits & Subscription.indicationBit != 0
        }
    }

    /// All characteristics that the client has subscribed to, by value handle.
    package var subscriptions: [UInt16: Subscription] {
        configurations.mapValues(Subscription.init(configuration:))
    }

    /// The value of a Client Characteristic Configuration.
    func configuration(of characteristic: UInt16) -> UInt16 { configurations[characteristic] ?? 0 }

    mutating func configure(_ characteristic: UInt16, _ value: UInt16) {
        configurations[characteristic] = value == 0 ? nil : value
    }
}

extension ServerClient {
    /// How a client has subscribed to a characteristic.
    package enum Subscription: Hashable, Sendable {
        /// Nothing.
        case none
        /// Notifications; also if the client has subscribed to both.
        case notify
        /// Indications.
        case indicate

        /// The bits of a Client Characteristic Configuration (Vol 3, Part G, 3.3.3.3).
        static let notificationBit: UInt16 = 0x0001
        static let indicationBit: UInt16 = 0x0002

        init(configuration: UInt16) {
            self =
                configuration & Self.notificationBit != 0
                ? .notify : configuration & Self.indicationBit != 0 ? .indicate : .none
        }
    }
}
