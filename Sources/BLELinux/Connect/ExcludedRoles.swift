internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Whether the controller can be central and peripheral at once, and which centrals are in the way if it can't.
///
/// While a central is connected to such a controller, the kernel silently skips a peer that it receives, and keeps
/// listening; the controller reports that peer once per scan. So an attempt to connect waits for ever, even after the
/// central has gone, and must then be repeated. Source: kernel, net/bluetooth/hci_event.c, `check_pending_le_conn`.
///
/// This requires no capability.
final class ExcludedRoles: Sendable {
    private struct State {
        /// `nil` until the kernel has reported it, and if it doesn't.
        var areCombined: Bool?
        var isAsked = false
    }

    private let adapter: LinuxAdapter
    private let management: ManagementSocket?
    private let state = Mutex(State())

    init(adapter: LinuxAdapter, management: ManagementSocket?) {
        self.adapter = adapter
        self.management = management
    }

    /// Whether the kernel has reported that the controller can't.
    var areKnown: Bool { state.withLock { $0.areCombined == false } }

    /// Asks the kernel about an adapter that is on, unless it has answered.
    func learn() {
        let isDue = state.withLock { state in
            defer { state.isAsked = true }
            return !state.isAsked && state.areCombined == nil
        }
        guard isDue else { return }
        management?.submit(ManagementReadExperimentalFeatures()) { [weak self] answer in
            self?.state.withLock { state in
                state.areCombined = (try? answer.get())?.combinesRoles
                // If there was no answer, or no adapter, the next call asks again.
                if case .failure(let failure) = answer { state.isAsked = failure.isRefusal }
            }
        }
    }

    /// Why the adapter can't connect now; `nil` if it can, or if that isn't known.
    var connectObstacle: BLEError? {
        guard areKnown else { return nil }
        let centrals = adapter.peers(asCentral: false)
        return centrals.isEmpty ? nil : .rolesExclude(adapter: adapter.name, centrals: centrals)
    }
}
