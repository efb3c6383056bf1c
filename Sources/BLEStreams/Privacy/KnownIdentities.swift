import BLEProtocol
import BLERadio
import Synchronization

/// Tells who is behind the private addresses of those with whom there are bonds, without reading a file.
final class KnownIdentities: Sendable {
    private struct State {
        var keys: [BluetoothAddress: SecretKey] = [:]
        /// What was found out of addresses that were asked for: each by its identity, or by itself.
        var found: [BluetoothAddress: BluetoothAddress] = [:]
    }

    /// Private addresses change every quarter of an hour; those of strangers are as many as there are passers-by.
    private static let maximumFound = 1024

    private let state = Mutex(State())

    /// Takes the bonds that there are in place of those that there were.
    func renew(_ bonds: [Bond]) {
        let keys = bonds.reduce(into: [:]) { keys, bond in keys[bond.peer] = bond.identityKey ?? keys[bond.peer] }
        state.withLock { state in
            if keys != state.keys { (state.keys, state.found) = (keys, [:]) }
        }
    }

    /// Takes one more.
    func add(_ bond: Bond) {
        guard let key = bond.identityKey else { return }
        state.withLock { state in
            state.keys[bond.peer] = key
            state.found = [:]
        }
    }

    /// The identity behind a private address; the address itself where it is none, or nobody's who is known.
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

extension CentralCore {
    /// Reads what bonds there are, where files may be read, then goes on.
    func renewIdentities(then proceed: @escaping @Sendable () -> Void) {
        store.perform(on: timeline) {
            self.identities.renew(self.store.peers().flatMap { self.store.bonds(with: $0) })
            proceed()
        }
    }
}
