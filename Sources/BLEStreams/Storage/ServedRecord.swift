import BLEProtocol
import FoundationEssentials
import Synchronization

/// What a bonded central has configured of the attributes that this machine offers, as it stands in the central's file.
///
/// Source: Core Specification, Vol 3, Part G, 3.3.3.3 and 7.2.
struct ServedRecord: Codable, Equatable, Sendable {
    struct Configuration: Codable, Equatable, Sendable {
        var valueHandle: UInt16
        var value: UInt16
    }

    /// The Database Hash of the attributes that the central knows; empty where it has not taken note of a change.
    var databaseHash: Data
    /// The Client Characteristic Configurations that are not zero.
    var configurations: [Configuration]
    /// Its Client Supported Features.
    var features: UInt8
}

/// What is kept of the centrals that a peripheral serves, from one link to the next: of bonded ones, all that the
/// specification asks to be kept; of others nothing.
///
/// Centrals come and go on the radio's thread, where no file is touched: the files are read before, and written as an
/// errand.
final class ServedCentrals: Sendable {
    private struct State {
        var records: [BluetoothAddress: ServedRecord] = [:]
        /// Those with whom there is a bond, as far as the files say.
        var bonded: Set<BluetoothAddress> = []
    }

    private let store: PeerStore
    private let errands: Errands
    private let state = Mutex(State())

    init(store: PeerStore, _ errands: Errands) {
        self.store = store
        self.errands = errands
    }

    /// Reads what there is; may take as long as the disk does.
    func load() {
        for peer in store.peers() {
            let record = store.record(of: peer)
            state.withLock { state in
                state.records[peer] = record.served
                if record.served != nil || record.bonds?.isEmpty == false { state.bonded.insert(peer) }
            }
        }
    }

    /// What is known of a central that has connected, and whether there is a bond with it.
    func recall(_ central: BluetoothAddress, _ database: AttributeDatabase) -> (client: ServerClient, isBonded: Bool) {
        let (found, isBonded) = state.withLock { ($0.records[central], $0.bonded.contains(central)) }
        guard let record = found else { return (ServerClient(), isBonded) }
        let client = ServerClient(
            configurations: Dictionary(
                record.configurations.map { ($0.valueHandle, $0.value) },
                uniquingKeysWith: { first, _ in first }
            ),
            features: GATTClientFeatures(rawValue: record.features)
        )
        let isCurrent = Array(record.databaseHash) == database.computedHash()
        return (isCurrent ? client : client.returning(to: database), isBonded)
    }

    /// Keeps what a central has configured, now that it has left.
    ///
    /// - Parameter isBonded: whether the link was encrypted: with a key that both sides keep.
    func keep(_ client: ServerClient, of central: BluetoothAddress, isBonded: Bool, _ database: AttributeDatabase) {
        guard isBonded, central.subkind == .public || central.subkind == .randomStatic else { return }
        let isCurrent = client.isChangeAware && client.knows(database)
        let record = ServedRecord(
            databaseHash: Data(isCurrent ? database.computedHash() : []),
            configurations: client.configurations.sorted { $0.key < $1.key }.map {
                ServedRecord.Configuration(valueHandle: $0.key, value: $0.value)
            },
            features: client.features.rawValue
        )
        let kept = record.configurations.isEmpty && record.features == 0 ? nil : record
        let isNews = state.withLock { state in
            state.bonded.insert(central)
            defer { state.records[central] = kept }
            return state.records[central] != kept
        }
        guard isNews else { return }
        errands.leave { [store] in store.update(central) { $0.served = kept } }
    }
}
