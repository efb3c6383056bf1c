import BLEProtocol
import BLERadio
import Synchronization

/// Where the events of a channel come from.
extension FlowChannel {
    /// Hears of the link that there is, and of each that follows.
    func watchLinks() -> @Sendable () -> Void {
        if let link = try? context.link {
            watch(link)
            inbox.send(.readyToWrite)
        }
        return context.watchLinks { [weak self] stage in
            guard let self else { return }
            switch stage {
            case .connected: if let link = try? self.context.link { watch(link) }
            case .ready: inbox.send(.readyToWrite)
            }
        }
    }

    private func watch(_ link: Link) {
        let number = context.connection.number
        state.withLock { $0.watchedLink = number }
        // Values and the end of a former link say nothing about this one.
        inbox.removeAll { event in
            switch event {
            case .received, .linkLost, .connected, .readyToWrite: true
            default: false
            }
        }
        inbox.send(.connected)
        link.onEnd { [weak self] reason in self?.lost(number, reason) }
    }

    private func lost(_ number: Int, _ reason: DisconnectReason) {
        guard state.withLock({ $0.watchedLink == number && $0.end == nil }) else { return }
        inbox.send(.linkLost(.linkEnded(reason, operation: state.withLock { $0.phase }, object: "on \(peripheral)")))
    }

    /// Hears of the adapter.
    func watchAdapter() -> @Sendable () -> Void {
        let activity = peripheral.core.radio.observeAdapter { [weak self] info in
            guard let self else { return }
            let isUsable = info.state == .poweredOn
            let isNew = state.withLock { state in
                defer { state.isAdapterUsable = isUsable }
                return state.isAdapterUsable != isUsable
            }
            if isNew { inbox.send(isUsable ? .adapterOn : .adapterOff) }
        }
        return { activity.cancel() }
    }

    /// Hears of scans, and of the device in them.
    func watchScans() -> @Sendable () -> Void {
        let peripheral = peripheral
        let addresses = Set([peripheral.address] + peripheral.alternatives)
        return peripheral.core.scans.watch(
            ScanBroker.Watcher(
                started: { [weak self] in
                    self?.state.withLock { $0.isDiscovered = false }
                    self?.inbox.send(.scanStarted)
                },
                heard: { [weak self] reports in
                    guard let self, let report = reports.first(where: { addresses.contains($0.address) }) else {
                        return
                    }
                    let isNew = state.withLock { state in
                        defer { state.isDiscovered = true }
                        return !state.isDiscovered
                    }
                    guard isNew else { return }
                    let heard = Peripheral(core: peripheral.core, address: report.address)
                    inbox.send(.discovered(Discovery(peripheral: heard, report: report)))
                },
                stopped: { [weak self] in self?.inbox.send(.scanStopped) }
            )
        )
    }
}
