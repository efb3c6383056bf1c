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
    ///
    /// It does nothing if another thread has seen meanwhile that the adapter is absent: with the number that stands for
    /// no adapter, the kernel would list its own features, and the controller's would be missing. Source: kernel,
    /// `net/bluetooth/mgmt.c`, `read_exp_features_info`.
    func learn() {
        let index = ManagementIndex(rawValue: adapter.presentNumber)
        guard index != ManagementIndex.none else { return }
        let isDue = state.withLock { state in
            defer { state.isAsked = true }
            return !state.isAsked && state.areCombined == nil
        }
        guard isDue else { return }
        management?.submit(ManagementReadExperimentalFeatures(), index: index) { [weak self] answer in
            switch answer {
            case .success(let features) where features.combinesRoles && !features.hasRolesFlag:
                self?.learnFromVersion()
            case .success(let features):
                self?.state.withLock { $0.areCombined = features.combinesRoles }
            // If there was no answer, or no adapter, the next call asks again.
            case .failure(let failure):
                self?.state.withLock { $0.isAsked = failure.isRefusal }
            }
        }
    }

    /// The kernel has listed the feature without its flag: some say by that that the controller can't.
    private func learnFromVersion() {
        management?.submit(ManagementReadVersion(), index: ManagementIndex.none) { [weak self] answer in
            self?.state.withLock { state in
                switch answer {
                case .success(let version): state.areCombined = version.listsRolesIfCombined
                case .failure: state.isAsked = false
                }
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

extension ManagementReadVersion.Response {
    /// Whether the kernel lists the feature only of controllers that have it: since revision 22, Linux 5.18. Linux 5.17
    /// does, too, with the revision of earlier ones: there, each controller counts as one that can't.
    fileprivate var listsRolesIfCombined: Bool { (UInt16(version), revision) >= (1, 22) }
}
