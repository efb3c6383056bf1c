/// A peer's database, and the hash that shows whether it has changed; `nil` if the peer has none.
package struct RememberedDatabase: Hashable, Sendable {
    package var database: GATTDatabase
    /// The Database Hash as it was received; it is only compared, since servers compute it differently.
    package var hash: [UInt8]?
    /// Whether the database has changed before without a way to report that: it is not believed without a check.
    package var mayChange: Bool

    package init(database: GATTDatabase, hash: [UInt8]?, mayChange: Bool = false) {
        self.database = database
        self.hash = hash
        self.mayChange = mayChange
    }
}

extension GATTDatabase {
    /// Whether the database never changes in the device's lifetime: the device has no Service Changed.
    ///
    /// A client need not discover the services of such a device again. Source: Core Specification, Vol 3, Part G,
    /// 2.5.2.
    package var isStatic: Bool {
        !services.contains { $0.characteristics.contains { $0.uuid == BluetoothUUID.Characteristics.serviceChanged } }
    }

    /// Whether it has the Database Hash (2B2A), which a peer whose hash was read certainly has.
    package var hasHash: Bool {
        services.contains { $0.characteristics.contains { $0.uuid == BluetoothUUID.Characteristics.databaseHash } }
    }

    /// Whether the peer sends nothing to a client that has asked for robust caching, as this one does, while that
    /// doesn't know of a change. Source: Core Specification, Vol 3, Part G, 2.5.2.1.
    var hasRobustCaching: Bool { hasHash && clientFeatures != nil }

    /// Client Supported Features (2B29).
    package var clientFeatures: Characteristic? {
        characteristic(BluetoothUUID.Characteristics.clientSupportedFeatures, in: .genericAttribute)
    }

    /// Service Changed (2A05), if a client can subscribe to it.
    package var serviceChanged: Characteristic? {
        characteristic(BluetoothUUID.Characteristics.serviceChanged, in: .genericAttribute).flatMap {
            $0.clientConfiguration != nil && $0.properties.contains(.indicate) ? $0 : nil
        }
    }
}
