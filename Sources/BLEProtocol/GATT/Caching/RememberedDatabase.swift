/// What a peer offered, and the hash by which it can be asked whether it still does; `nil` where it has none.
package struct RememberedDatabase: Hashable, Sendable {
    package var database: GATTDatabase
    /// The Database Hash as it came on air; only ever compared, since servers differ in how they make it.
    package var hash: [UInt8]?
    /// Whether it has changed though it has no way to say so: it is not believed without being asked.
    package var mayChange: Bool

    package init(database: GATTDatabase, hash: [UInt8]?, mayChange: Bool = false) {
        self.database = database
        self.hash = hash
        self.mayChange = mayChange
    }
}

extension GATTDatabase {
    /// Whether it stays as it is for as long as the device lives: the device has no Service Changed at all.
    ///
    /// A client need not discover the services of such a one again. Source: Core Specification, Vol 3, Part G, 2.5.2.
    package var isStatic: Bool {
        !services.contains { $0.characteristics.contains { $0.uuid == AttributeType.serviceChanged } }
    }

    /// Where clients say what they understand (2B29).
    package var clientFeatures: Characteristic? {
        characteristic(AttributeType.clientSupportedFeatures, in: .genericAttribute)
    }

    /// What tells of changes (2A05), where a client can have it tell.
    package var serviceChanged: Characteristic? {
        characteristic(AttributeType.serviceChanged, in: .genericAttribute).flatMap {
            $0.clientConfiguration != nil && $0.properties.contains(.indicate) ? $0 : nil
        }
    }
}
