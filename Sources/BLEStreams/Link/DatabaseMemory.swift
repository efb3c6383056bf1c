import BLEProtocol

/// Stores a peer's services between links, only for peers with a lasting address.
struct DatabaseMemory: Sendable {
    let store: PeerStore
    let peer: BluetoothAddress

    private var isIdentity: Bool { peer.subkind == .public || peer.subkind == .randomStatic }

    func recall(_ record: PeerRecord) -> RememberedDatabase? {
        isIdentity ? record.services?.remembered : nil
    }

    func keptSubscriptions(_ record: PeerRecord) -> [LinkMachine.KeptSubscription] {
        isIdentity ? (record.subscribed ?? []).compactMap(\.kept) : []
    }

    func keep(_ subscriptions: [LinkMachine.KeptSubscription]) {
        guard isIdentity else { return }
        let records = subscriptions.map(SubscribedRecord.init)
        store.update(peer) { record in
            // The bond may have gone meanwhile.
            let isBonded = record.bonds?.isEmpty == false
            record.subscribed = isBonded && !records.isEmpty ? records : nil
        }
    }

    func take(_ memory: DatabaseTracker.Memory) {
        guard isIdentity else { return }
        switch memory {
        case .forget: store.forgetServices(of: peer)
        case .store(let remembered): store.remember(ServicesRecord(remembered), of: peer)
        }
    }
}
