internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Whether the controller can be central and peripheral at once, and who is in the way where it can't.
///
/// The kernel passes over a peer that it hears while a central is connected to such a controller, without a word, and listens
/// on; the controller reports that peer once in a scan. So an attempt to connect waits for ever, also when the central has
/// gone, and has to be made anew then. Source: kernel, net/bluetooth/hci_event.c, `check_pending_le_conn`.
///
/// Everybody may know all of this: it takes no capability.
final class ExcludedRoles: Sendable {
    private struct State {
        /// `nil` until the kernel has told; and where it doesn't.
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

    /// Whether the kernel has told that the controller can't.
    var areKnown: Bool { state.withLock { $0.areCombined == false } }

    /// Asks the kernel, of an adapter that is on, unless it has told.
    func learn() {
        let isDue = state.withLock { state in
            defer { state.isAsked = true }
            return !state.isAsked && state.areCombined == nil
        }
        guard isDue else { return }
        management?.submit(ManagementReadExperimentalFeatures()) { [weak self] answer in
            self?.state.withLock { state in
                state.areCombined = (try? answer.get())?.combinesRoles
                // What was only missed is asked for again.
                if case .failure(let failure) = answer { state.isAsked = failure.status != nil }
            }
        }
    }

    /// Why the adapter connects to nobody now; `nil` where it does, or that isn't known.
    var connectObstacle: BLEError? {
        guard areKnown else { return nil }
        let centrals = adapter.peers(asCentral: false)
        return centrals.isEmpty ? nil : .rolesExclude(adapter: adapter.name, centrals: centrals)
    }
}
