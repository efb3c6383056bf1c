internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Ensures that an attempt to connect neither waits for the adapter's other work nor holds it up for long.
///
/// This requires the management socket; without the permission for it, the kernel's own times stay in force.
final class ConnectingPeers: Sendable {
    private struct State {
        var patience = ConnectPatience()
        var timers: [Int: RadioActivity] = [:]
        var nextAttempt = 0
        /// Whether the kernel is known to accept this time from the program; queried once.
        var takesPatience: Bool?
        /// The time to set once the kernel is known to accept it.
        var wanted: Duration?
        /// What the discovery that is under way listens for; empty if there is none, `nil` until an event has shown it,
        /// and after a loss of events.
        var discovery: ManagementDiscoveryType?
        var isInterrupting = false
        /// Called if the kernel does not begin to listen anew, as it is being asked to; empty if it isn't.
        var unheard: [@Sendable () -> Void] = []
        var observation: RadioActivity?
    }

    private let management: ManagementSocket?
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(management: ManagementSocket?, timeline: any Timeline) {
        self.management = management
        self.timeline = timeline
        let observation = management?.observe { [weak self] events in
            for case .discovering(let type, let isOn) in events.map(\.event) {
                self?.state.withLock { $0.discovery = isOn ? type : [] }
            }
        } lost: { [weak self] _ in
            self?.state.withLock { $0.discovery = nil }
        }
        state.withLock { $0.observation = observation }
    }

    /// Begins an attempt's wait for its peer, until the activity is cancelled.
    ///
    /// - Parameter failures: how often the peer was received, but did not answer.
    func begin(failures: Int) -> RadioActivity {
        guard management != nil else { return RadioActivity {} }
        let attempt = state.withLock { state in
            defer { state.nextAttempt += 1 }
            return state.nextAttempt
        }
        perform { $0.began(attempt, failures: failures) }
        return RadioActivity { [weak self] in self?.ended(attempt) }
    }

    /// Ends the current discovery, of any program, which then begins again.
    ///
    /// The kernel connects when an advertisement is reported, and controllers report each device once per discovery:
    /// for a peer that was already found, the attempt would wait until the discovery ends, up to ten seconds. So it
    /// would during one of Bluetooth Classic alone, in which the kernel listens for no peer. When the connection is
    /// made, the kernel ends the discovery anyway.
    func interruptDiscovery() {
        let types = state.withLock { state -> [ManagementDiscoveryType] in
            guard state.discovery?.isEmpty != true, !state.isInterrupting else { return [] }
            state.isInterrupting = true
            return state.discovery.map { [$0] } ?? Self.discoveryTypes
        }
        if !types.isEmpty { stopDiscovery(ofOneOf: types[...]) }
    }

    /// Has the kernel begin to listen anew, so that it receives once more what it has passed over.
    ///
    /// It would do so for an attempt that is withdrawn and made again, too. But if a connecting socket is closed just
    /// as the kernel receives its peer, and is busy with another command, Linux 6.12 never ends that attempt, and makes
    /// no other connection until the adapter is switched off. Source: kernel, `net/bluetooth/hci_conn.c`,
    /// `hci_abort_conn`, and `net/bluetooth/hci_sync.c`, `hci_cancel_connect_sync`.
    ///
    /// - Parameter refused: called if this program may not ask for it, or the kernel doesn't do it.
    func listenAnew(_ refused: @escaping @Sendable () -> Void) {
        guard let management else { return refused() }
        let isFirst = state.withLock { state in
            defer { state.unheard.append(refused) }
            return state.unheard.isEmpty
        }
        guard isFirst else { return }
        management.submit(ManagementStartDiscovery()) { [weak self, management] answer in
            guard let self else { return }
            let unheard = state.withLock { state in
                defer { state.unheard = [] }
                return state.unheard
            }
            switch answer {
            // Behind it, the kernel listens for the awaited peers alone, as before.
            case .success: management.submit(ManagementStopDiscovery()) { _ in }
            // Another one is under way, or about to begin or to end.
            case .failure(let failure) where failure.status == .busy: interruptDiscovery()
            case .failure: for refused in unheard { refused() }
            }
        }
    }

    /// The types that programs discover: this library, bluetoothd where the adapter has Bluetooth Classic, and a
    /// program that wants nothing else.
    private static let discoveryTypes: [ManagementDiscoveryType] = [.lowEnergy, [.lowEnergy, .classic], .classic]

    /// The kernel ends a discovery only for whoever names its type. Source: kernel, `net/bluetooth/mgmt.c`,
    /// `stop_discovery`.
    private func stopDiscovery(ofOneOf types: ArraySlice<ManagementDiscoveryType>) {
        guard let type = types.first else { return state.withLock { $0.isInterrupting = false } }
        management?.submit(ManagementStopDiscovery(type)) { [weak self] answer in
            if answer.failure?.status == .invalidParameters {
                self?.stopDiscovery(ofOneOf: types.dropFirst())
                return
            }
            self?.state.withLock { state in
                state.isInterrupting = false
                // No discovery is under way, or this program may not end it.
                if let status = answer.failure?.status, status == .rejected || status == .permissionDenied {
                    state.discovery = []
                }
            }
        }
    }
}

// MARK: - The kernel's patience

extension ConnectingPeers {
    private func ended(_ attempt: Int) {
        let timer = state.withLock { $0.timers.removeValue(forKey: attempt) }
        timer?.cancel()
        perform { $0.ended(attempt) }
    }

    private func perform(_ input: (inout ConnectPatience) -> ConnectPatience.Output) {
        let output = state.withLock { input(&$0.patience) }
        if let next = output.timer {
            let timer = timeline.schedule(after: next.delay) { [weak self] in
                self?.perform { $0.timerFired(next.attempt) }
            }
            let isOver = state.withLock { state in
                if state.patience.includes(next.attempt) { state.timers[next.attempt] = timer }
                return !state.patience.includes(next.attempt)
            }
            if isOver { timer.cancel() }
        }
        if let patience = output.patience { tell(patience) }
    }

    /// Sets the kernel's time, after a query: some kernels have no such time, and complain in their log.
    private func tell(_ patience: Duration) {
        let takesPatience = state.withLock { state in
            state.wanted = patience
            return state.takesPatience
        }
        switch takesPatience {
        case true?: management?.submit(ManagementSetConnectPatience(patience)) { _ in }
        case false?: break
        case nil:
            management?.submit(ManagementReadDefaultConfiguration()) { [weak self] in self?.learned($0) }
        }
    }

    private func learned(_ answer: Result<ManagementReadDefaultConfiguration.Response, ManagementFailure>) {
        let patience = state.withLock { state -> Duration? in
            // If there was no answer, or no adapter, the next call queries again.
            if case .failure(let failure) = answer, !failure.isRefusal { return nil }
            state.takesPatience = (try? answer.get())?.connectPatience != nil
            return state.takesPatience == true ? state.wanted : nil
        }
        if let patience { management?.submit(ManagementSetConnectPatience(patience)) { _ in } }
    }
}
