internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Holds back attempts to connect to a peer while the kernel cleans up a cancelled one.
///
/// The kernel does that in a worker, some milliseconds after the socket was closed. An attempt to the same peer made in
/// between is tied to the connection that is about to be cleaned up, and fails with it. So does one to the other kind
/// of the address: among connections that are being made, the kernel looks for the octets of the address alone.
final class SettlingPeers: Sendable {
    private struct Settling {
        var waiting: [@Sendable () -> Void] = []
        var deadline: RadioActivity?
    }

    private struct State {
        /// By the octets of their addresses.
        var peers: [UInt64: Settling] = [:]
        var observation: RadioActivity?
    }

    /// How long to wait if the kernel doesn't report that it is done: Linux 6.1 never does, and no kernel does without
    /// the capability.
    private static let patience = Duration.milliseconds(500)

    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(management: ManagementSocket?, loop: EventLoop, timeline: any Timeline) {
        self.loop = loop
        self.timeline = timeline
        let observation = management?.observe { [weak self] events in
            for event in events {
                if case .connectFailed(let address, _) = event.event, let peer = address.lowEnergy {
                    self?.settle(peer)
                }
            }
        }
        state.withLock { $0.observation = observation }
    }

    /// An attempt to connect to this peer has been cancelled.
    func noteCancellation(of peer: BluetoothAddress) {
        let deadline = timeline.schedule(after: Self.patience) { [weak self] in self?.settle(peer) }
        state.withLock { $0.peers[peer.rawValue, default: Settling()].deadline = deadline }
    }

    /// Attempts to connect to this peer wait until ``settle(_:)``.
    func hold(_ peer: BluetoothAddress) {
        let superfluous = state.withLock { state in
            defer { state.peers[peer.rawValue, default: Settling()].deadline = nil }
            return state.peers[peer.rawValue]?.deadline
        }
        superfluous?.cancel()
    }

    /// Runs a closure on the loop's thread once the kernel has cleaned up earlier attempts to this peer.
    func whenSettled(_ peer: BluetoothAddress, _ body: @escaping @Sendable () -> Void) {
        let mustWait = state.withLock { state in
            state.peers[peer.rawValue]?.waiting.append(body) != nil
        }
        if !mustWait { loop.enqueue(body) }
    }

    /// The attempts to connect to this peer may begin.
    func settle(_ peer: BluetoothAddress) {
        let settling = state.withLock { $0.peers.removeValue(forKey: peer.rawValue) }
        for body in settling?.waiting ?? [] { loop.enqueue(body) }
    }
}
