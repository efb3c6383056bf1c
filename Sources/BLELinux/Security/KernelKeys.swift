internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Which keys of bonds this program has given the kernel, for one adapter.
///
/// The kernel keeps them while the adapter is plugged in, and forgets them when it is removed. A list that is loaded
/// replaces the one before, whoever loaded it: while bluetoothd runs, the list is left to it.
final class KernelKeys: Sendable {
    private struct State {
        /// The peers whose keys the kernel has from this program; `nil`: nothing was loaded yet.
        var peers: Set<BluetoothAddress>?
        /// Those with whom the kernel has made keys of a bond since, whoever asked for it.
        var bonded: Set<BluetoothAddress> = []
        var observation: RadioActivity?
    }

    private let management: ManagementSocket?
    private let state = Mutex(State())

    init(management: ManagementSocket?) {
        self.management = management
        let observation = management?.observe { [weak self] events in
            for event in events {
                switch event.event {
                case .indexRemoved, .extendedIndexRemoved: self?.forgetAll()
                case .newLongTermKey(let new):
                    if new.storeHint, let peer = new.key.address.lowEnergy { self?.noteBond(peer) }
                case .deviceUnpaired(let address):
                    if let peer = address.lowEnergy { self?.remove(peer) }
                default: break
                }
            }
        }
        state.withLock { $0.observation = observation }
    }

    private func forgetAll() {
        state.withLock { state in
            state.peers = nil
            state.bonded = []
        }
    }

    private func noteBond(_ peer: BluetoothAddress) { _ = state.withLock { $0.bonded.insert(peer) } }

    /// Whether the kernel has a key of a bond with a peer, as far as this program has seen or given it.
    func isKnown(_ peer: BluetoothAddress) -> Bool {
        state.withLock { $0.bonded.contains(peer) || $0.peers?.contains(peer) == true }
    }

    /// The kernel has made keys with a peer by itself.
    func note(_ peer: BluetoothAddress) { _ = state.withLock { $0.peers?.insert(peer) } }

    func remove(_ peer: BluetoothAddress) {
        state.withLock { state in
            state.peers?.remove(peer)
            state.bonded.remove(peer)
        }
    }

    /// Gives the kernel what it lacks; the closure is called on the loop's thread, or at once.
    func load(_ bonds: [Bond], _ result: @escaping @Sendable (Result<Void, ManagementFailure>) -> Void) {
        let peers = Set(bonds.map(\.peer))
        let isKnown = state.withLock { state in state.peers.map { peers.isSubset(of: $0) } ?? false }
        guard !isKnown, let management, !Bluetoothd.isRunning else { return result(.success(())) }
        let longTerm = bonds.flatMap { bond in
            bond.encryptionKeys.map { ManagementLongTermKey($0, of: bond.peer) }
        }
        let identity = bonds.compactMap { bond in
            bond.identityKey.map {
                ManagementIdentityResolvingKey(address: ManagementAddress(bond.peer), value: $0)
            }
        }
        // Also where there are none: only then does the kernel take a peer's identity in a pairing.
        management.submit(ManagementLoadIdentityResolvingKeys(identity)) { [self] answer in
            if case .failure(let failure) = answer { return result(.failure(failure)) }
            management.submit(ManagementLoadLongTermKeys(longTerm)) { [self] answer in
                if case .success = answer { state.withLock { $0.peers = peers } }
                result(answer.map { _ in })
            }
        }
    }
}

extension ManagementLongTermKey {
    fileprivate init(_ key: Bond.EncryptionKey, of peer: BluetoothAddress) {
        self.init(
            address: ManagementAddress(peer),
            kind: Kind(rawValue: key.kind),
            initiator: key.initiator,
            size: key.size,
            diversifier: key.diversifier,
            random: key.random,
            value: key.value
        )
    }
}

extension Bond.EncryptionKey {
    init(_ key: ManagementLongTermKey) {
        self.init(
            kind: key.kind.rawValue,
            initiator: key.initiator,
            size: key.size,
            diversifier: key.diversifier,
            random: key.random,
            value: key.value
        )
    }
}
