internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) {
        environment.readRSSI(of: kernelPeer, result)
    }

    /// The name under which the kernel has the connection now: a peer with a private address that has told its identity
    /// in a pairing has that from then on, and commands under the old name miss.
    var kernelPeer: BluetoothAddress {
        let socket = state.withLock { $0.socket }
        return (try? socket?.descriptor.peerAddress())?.device ?? peer
    }

    /// Of a socket whose connection is gone the kernel still tells the level, which is then the last one.
    var security: LinkSecurity {
        let (socket, last, ceiling) = state.withLock { ($0.socket, $0.lastSecurity, $0.securityCeiling) }
        guard let socket, let now = try? socket.descriptor.security() else { return last }
        return LinkSecurity(level: now.level, keySize: now.keySize, upTo: ceiling)
    }

    var hasKey: Bool { environment.hasKey(of: kernelPeer) }
}
