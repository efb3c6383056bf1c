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

    /// The Database Hash of the attributes that the central is served from; empty if it must yet learn of a change.
    var databaseHash: Data
    /// The Client Characteristic Configurations that are not zero.
    var configurations: [Configuration]
    /// Its Client Supported Features.
    var features: UInt8
    /// The adapter at which it has configured that: `C4:F2:17:1A:1D:BB/public`. Absent in older files, and where the
    /// radio doesn't report it.
    var adapter: String?

    /// Whether there is nothing to keep.
    var isEmpty: Bool { configurations.isEmpty && features == 0 }

    /// The same with what the central has configured since then, on a link on which this was not known.
    ///
    /// - Parameter configured: the value handles of what it has configured there, also of what it has switched off.
    func extended(by newer: ServedRecord, of configured: Set<UInt16>) -> ServedRecord {
        var all = self
        all.adapter = newer.adapter
        if newer.databaseHash == databaseHash {
            let anew = configured.union(newer.configurations.map(\.valueHandle))
            all.configurations = configurations.filter { !anew.contains($0.valueHandle) } + newer.configurations
            all.configurations.sort { $0.valueHandle < $1.valueHandle }
            all.features |= newer.features
        } else if !newer.isEmpty {
            // Of other services.
            all = newer
        }
        return all
    }
}

// Each adapter is another device to a central: it configures the attributes of each separately.
extension PeerRecord {
    /// What it has configured at each adapter, the record that was stored last first.
    var allServed: [ServedRecord] {
        get { [served].compactMap { $0 } + (otherServed ?? []) }
        set {
            served = newValue.first
            otherServed = newValue.count > 1 ? Array(newValue.dropFirst()) : nil
        }
    }

    /// What it has configured at an adapter; a record without an adapter is taken for that of any.
    func served(at adapter: BluetoothAddress?) -> ServedRecord? {
        let name = adapter?.descriptionWithKind
        return allServed.first { $0.adapter == name } ?? allServed.first { $0.adapter == nil }
    }

    /// Stores what it has configured at an adapter, in place of what was stored of that. A record without an adapter,
    /// which was that of all, is from then on the record of each other adapter that has a bond and no record.
    mutating func setServed(_ record: ServedRecord?, at adapter: BluetoothAddress?) {
        let name = adapter?.descriptionWithKind
        var others = allServed.filter { $0.adapter != name && $0.adapter != nil }
        if adapter != nil, var former = allServed.first(where: { $0.adapter == nil }) {
            for bond in bonds ?? [] where bond.adapter != name {
                if others.contains(where: { $0.adapter == bond.adapter }) { continue }
                former.adapter = bond.adapter
                others.append(former)
            }
        }
        allServed = [record].compactMap { $0 } + others
    }
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
        /// Whether it may have configured more than that, since its file can't be read.
        var isUnread = false
    }

    /// Reads the stored state of a central that has connected; calls back exactly once, immediately or later.
    ///
    /// - Parameter adapter: this side of its link.
    func read(
        _ central: BluetoothAddress,
        at adapter: BluetoothAddress? = nil,
        on timeline: any Timeline,
        _ answer: @escaping @Sendable (Kept) -> Void
    ) {
        store.perform(on: timeline) {
            let (record, isWhole) = store.reading(of: central)
            let hasBond = record.bonds?.isEmpty == false
            let served = record.served(at: adapter)
            answer(
                Kept(
                    record: served,
                    isBonded: served != nil || hasBond,
                    hasStoredBond: hasBond,
                    isUnread: !isWhole
                )
            )
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
        return isCurrent ? client.served(from: database) : client.returning(to: database)
    }

    /// Stores what a central has configured.
    ///
    /// - Parameters:
    ///   - adapter: this side of its link.
    ///   - isBonded: whether the link is or was encrypted, with a key that both sides keep.
    ///   - hadStored: whether the file had the bond during the link: then nothing is kept without it; and whether it
    ///     had what the central had configured: then, without a bond, nothing is kept if that has gone.
    ///   - anew: what the central has configured on the link, where not all was known there that it had configured
    ///     before: the rest of that holds on; `nil` where it was known.
    /// - Returns: whether there is nothing to keep of it, so that the file lacks it from then on.
    func keep(
        _ client: ServerClient,
        of central: BluetoothAddress,
        at adapter: BluetoothAddress?,
        isBonded: Bool,
        hadStored: (bond: Bool, state: Bool),
        anew: Set<UInt16>? = nil,
        _ database: AttributeDatabase
    ) -> Bool {
        guard isBonded, central.subkind == .public || central.subkind == .randomStatic else { return false }
        let served = ServedRecord(
            databaseHash: Data(client.knows(database) ? database.computedHash() : []),
            configurations: client.configurations.sorted { $0.key < $1.key }.map {
                ServedRecord.Configuration(valueHandle: $0.key, value: $0.value)
            },
            features: client.features.rawValue,
            adapter: adapter?.descriptionWithKind
        )
        let isEmpty = served.isEmpty
        // It won't write that again: where the disk is full, it is kept in memory for its next link.
        store.update(central, isLasting: true) { record in
            // The bond may have gone meanwhile. It is looked for here, since another program may have removed it.
            let mayBeForgotten = hadStored.bond || hadStored.state && record.served(at: adapter) == nil
            let isForgotten = mayBeForgotten && record.bonds?.isEmpty != false
            let whole = anew.flatMap { record.served(at: adapter)?.extended(by: served, of: $0) } ?? served
            record.setServed(whole.isEmpty || isForgotten ? nil : whole, at: adapter)
        }
        return isEmpty
    }
}
