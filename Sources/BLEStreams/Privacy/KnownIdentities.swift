import BLEProtocol
import BLERadio
import Synchronization

/// Resolves private addresses of bonded peers without reading a file.
final class KnownIdentities: Sendable {
    private struct State {
        var keys: [BluetoothAddress: SecretKey] = [:]
        /// The keys of bonds that were removed or replaced meanwhile, the latest last: links that are up go by the
        /// identities until they end, and whoever has named the peripheral by a private address must learn of that end.
        var former: [(peer: BluetoothAddress, key: SecretKey)] = []
        /// The results of earlier queries: each address with its identity, or with itself.
        var found: [BluetoothAddress: BluetoothAddress] = [:]

        /// The bonds with these peers are gone, or have other keys.
        mutating func retire(_ removed: [BluetoothAddress: SecretKey]) {
            former.removeAll { removed[$0.peer] != nil }
            former += removed.map { (peer: $0.key, key: $0.value) }
            former.removeFirst(max(0, former.count - KnownIdentities.maximumFormer))
        }
    }

    /// Private addresses change every 15 minutes or so, and there are as many strangers' addresses as passers-by.
    private static let maximumFound = 1024
    /// More than there are links; a program may pair with one peripheral after another, and remove each bond.
    static let maximumFormer = 256

    private let state = Mutex(State())

    /// Replaces the known bonds.
    func renew(_ bonds: [Bond]) {
        let keys = bonds.reduce(into: [:]) { keys, bond in keys[bond.peer] = bond.identityKey ?? keys[bond.peer] }
        state.withLock { state in
            guard keys != state.keys else { return }
            state.retire(state.keys.filter { keys[$0.key] != $0.value })
            (state.keys, state.found) = (keys, [:])
        }
    }

    /// Adds one bond.
    func add(_ bond: Bond) {
        guard let key = bond.identityKey else { return }
        state.withLock { state in
            let former = state.keys.updateValue(key, forKey: bond.peer)
            guard former != key else { return }
            if let former { state.retire([bond.peer: former]) }
            state.found = [:]
        }
    }

    /// Removes the bonds with a peer: the adapter knows its private addresses no more, and reaches it by the one on air.
    func remove(_ peer: BluetoothAddress) {
        state.withLock { state in
            guard let key = state.keys.removeValue(forKey: peer) else { return }
            state.retire([peer: key])
            state.found = [:]
        }
    }

    /// Whether the peripheral at this address may have other addresses too, or did while there was a bond with it.
    func mayHaveOthers(_ address: BluetoothAddress) -> Bool {
        let identity = presentOrFormerIdentity(of: address)
        return state.withLock { state in
            state.keys[identity] != nil || state.former.contains { $0.peer == identity }
        }
    }

    /// Whether a bond reveals this identity behind private addresses.
    func isRevealed(_ identity: BluetoothAddress) -> Bool { state.withLock { $0.keys[identity] != nil } }

    /// Whether two addresses are those of one peripheral: their octets are the same, or their identity is or was.
    func areOfOne(_ one: BluetoothAddress, _ other: BluetoothAddress) -> Bool {
        one.rawValue == other.rawValue
            || presentOrFormerIdentity(of: one).rawValue == presentOrFormerIdentity(of: other).rawValue
    }

    private func presentOrFormerIdentity(of address: BluetoothAddress) -> BluetoothAddress {
        let identity = identity(of: address)
        guard identity == address, address.subkind == .resolvablePrivate else { return identity }
        return state.withLock { state in state.former.last { $0.key.resolves(address) }?.peer ?? address }
    }

    /// The identity behind a private address; the address itself if it isn't private, or no known peer's.
    func identity(of address: BluetoothAddress) -> BluetoothAddress {
        guard address.subkind == .resolvablePrivate else { return address }
        return state.withLock { state in
            guard !state.keys.isEmpty else { return address }
            if let found = state.found[address] { return found }
            if state.found.count >= Self.maximumFound { state.found = [:] }
            let identity = state.keys.first { $1.resolves(address) }?.key ?? address
            state.found[address] = identity
            return identity
        }
    }
}

extension Peripheral {
    /// Whether an address may be another one of its own: with the other kind, its identity, or one of its private
    /// addresses.
    package func mayHave(_ address: BluetoothAddress) -> Bool { core.identities.areOfOne(self.address, address) }
}

extension CentralCore {
    /// Whether the adapter may know a bond's peer behind its private addresses: it gets no keys of another adapter's
    /// bonds, so it reaches such a peer only by the address on air. Until its own address is known, each may be its
    /// own.
    func mayReveal(_ bond: Bond) -> Bool {
        let local = radio.adapterInfo.address
        // An adapter may yet be joined.
        return joined != nil || local == nil || bond.adapter == local
    }

    /// Reads the bonds on a queue that may read files, then continues.
    func renewIdentities(then proceed: @escaping @Sendable () -> Void) {
        store.perform(on: timeline) {
            let (all, obstacle) = self.store.knownBonds()
            let bonds = all.filter(self.mayReveal)
            // Scans and links that are up go by identities that a folder or file which can't be read now has revealed
            // before.
            if obstacle == nil { self.identities.renew(bonds) } else { for bond in bonds { self.identities.add(bond) } }
            proceed()
        }
    }

    /// The same, for who waits.
    func renewIdentities() async throws {
        try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            renewIdentities { finish(.success(())) }
            return {}
        }
    }
}
