import BLEProtocol

/// Stores a peer's services between links, only for peers with a lasting address.
struct DatabaseMemory: Sendable {
    let store: PeerStore
    let peer: BluetoothAddress

    private var isIdentity: Bool { peer.subkind == .public || peer.subkind == .randomStatic }

    func recall(_ record: PeerRecord) -> RememberedDatabase? {
        isIdentity ? record.services?.remembered : nil
    }

    func take(_ memory: DatabaseTracker.Memory) {
        guard isIdentity else { return }
        switch memory {
        case .forget: store.update(peer) { $0.services = nil }
        case .store(let remembered):
            let record = ServicesRecord(remembered)
            store.update(peer) { $0.services = record }
        }
    }
}
