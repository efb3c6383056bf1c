import BLEProtocol
import BLERadio
import FoundationEssentials

/// What a bonded central has configured of this machine's attributes, as stored in the central's file.
///
/// Source: Core Specification, Vol 3, Part G, 3.3.3.3 and 7.2.
struct ServedRecord: Codable, Equatable, Sendable {
    struct Configuration: Codable, Equatable, Sendable {
        var valueHandle: UInt16
        var value: UInt16
    }

    /// The Database Hash of the attributes that the central knows; empty if it has not yet learned of a change.
    var databaseHash: Data
    /// The Client Characteristic Configurations that are not zero.
    var configurations: [Configuration]
    /// Its Client Supported Features.
    var features: UInt8
}

/// The state of served centrals from one link to the next: of bonded ones, all that the specification requires to be
/// kept; of others, nothing.
struct ServedCentrals: Sendable {
    let store: PeerStore

    /// What the store knows of a central.
    struct Kept: Sendable {
        var record: ServedRecord?
        /// Whether there is a bond with it.
        var isBonded: Bool
        /// Whether the file has that bond; otherwise another program does.
        var hasStoredBond = false
    }

    /// Reads the stored state of a central that has connected; calls back exactly once, immediately or later.
    func read(
        _ central: BluetoothAddress,
        on timeline: any Timeline,
        _ answer: @escaping @Sendable (Kept) -> Void
    ) {
        store.perform(on: timeline) {
            let record = store.record(of: central)
            let hasBond = record.bonds?.isEmpty == false
            let isBonded = record.served != nil || hasBond
            answer(Kept(record: record.served, isBonded: isBonded, hasStoredBond: hasBond))
        }
    }

    /// The state of a central, from its stored record.
    func recall(_ record: ServedRecord?, _ database: AttributeDatabase) -> ServerClient {
        guard let record else { return ServerClient() }
        let client = ServerClient(
            configurations: Dictionary(
                record.configurations.map { ($0.valueHandle, $0.value) },
                uniquingKeysWith: { first, _ in first }
            ),
            features: GATTClientFeatures(rawValue: record.features)
        )
        let isCurrent = Array(record.databaseHash) == database.computedHash()
        return isCurrent ? client : client.returning(to: database)
    }

    /// Stores what a central has configured.
    ///
    /// - Parameters:
    ///   - isBonded: whether the link is or was encrypted, with a key that both sides keep.
    ///   - hadStoredBond: whether the file had the bond during the link: then nothing is kept without it.
    ///   - hadStoredState: whether the file had what it had configured: then, without a bond, nothing is kept if that
    ///     has gone.
    /// - Returns: whether there is nothing to keep of it, so that the file lacks it from then on.
    func keep(
        _ client: ServerClient,
        of central: BluetoothAddress,
        isBonded: Bool,
        hadStoredBond: Bool,
        hadStoredState: Bool,
        _ database: AttributeDatabase
    ) -> Bool {
        guard isBonded, central.subkind == .public || central.subkind == .randomStatic else { return false }
        let isCurrent = client.isChangeAware && client.knows(database)
        let served = ServedRecord(
            databaseHash: Data(isCurrent ? database.computedHash() : []),
            configurations: client.configurations.sorted { $0.key < $1.key }.map {
                ServedRecord.Configuration(valueHandle: $0.key, value: $0.value)
            },
            features: client.features.rawValue
        )
        let isEmpty = served.configurations.isEmpty && served.features == 0
        store.update(central) { record in
            // The bond may have gone meanwhile. It is looked for here, since another program may have removed it.
            let mayBeForgotten = hadStoredBond || hadStoredState && record.served == nil
            let isForgotten = mayBeForgotten && record.bonds?.isEmpty != false
            record.served = isEmpty || isForgotten ? nil : served
        }
        return isEmpty
    }
}
