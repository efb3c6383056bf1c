internal import BLEProtocol
internal import Synchronization

extension SocketLink {
    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) {
        environment.readRSSI(of: kernelPeer, result)
    }

    /// The address by which the kernel knows the connection now: once a peer with a private address has sent its
    /// identity in a pairing, the kernel uses that, and commands with the old address fail.
    var kernelPeer: BluetoothAddress {
        let socket = state.withLock { $0.socket }
        return (try? socket?.descriptor.peerAddress())?.device ?? peer
    }

    /// For a socket whose connection is gone, the kernel still reports the last level.
    var security: LinkSecurity {
        let (socket, last, ceiling) = state.withLock { ($0.socket, $0.lastSecurity, $0.securityCeiling) }
        guard let socket, let now = try? socket.descriptor.security() else { return last }
        return LinkSecurity(level: now.level, keySize: now.keySize, upTo: ceiling)
    }

    var hasKey: Bool { environment.hasKey(of: kernelPeer) }
}
