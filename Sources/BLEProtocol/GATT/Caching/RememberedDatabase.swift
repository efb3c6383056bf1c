/// What a peer offered, and the hash by which it can be asked whether it still does.
package struct RememberedDatabase: Hashable, Sendable {
    package var database: GATTDatabase
    /// The Database Hash as it came on air; only ever compared, since servers differ in how they make it.
    package var hash: [UInt8]

    package init(database: GATTDatabase, hash: [UInt8]) {
        self.database = database
        self.hash = hash
    }
}

extension GATTDatabase {
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
