package import BLEProtocol
package import BLERadio
internal import Synchronization

/// A scan over the management socket: discovery for an active one, an advertisement monitor for a passive one.
///
/// The controller reports each device about once per discovery. With a monitor registered, the kernel switches that
/// filter off, so an active scan for every advertisement has a monitor beside its discovery. A scan that rests from
/// discovery, so that bluetoothd has its turn, listens with a monitor meanwhile.
///
/// The kernel merges an advertisement of Bluetooth 4 with its scan response, but not an extended one, which has all its
/// data in the response: this does. Source: kernel, `net/bluetooth/hci_event.c`, `process_adv_report`.
final class ManagementScan: ScanWay {
    private struct State {
        var machine = DiscoveryMachine()
        var timer: RadioActivity?
        var observation: RadioActivity?
        var monitor: ScanMonitor?
        var hasAnnounced = false
        var isOver = false
    }

    private let request: ScanRequest
    private let management: ManagementSocket
    private let place: ScanPlace
    private let sink: EventSink<ScanEvent>
    private let failed: @Sendable (ScanFailure) -> Void
    private let held: HeldReports
    private let state = Mutex(State())

    /// The largest number of services that fit into a command; a scan for more is filtered by the layer above.
    private static let maximumServices = 64

    init(
        _ request: ScanRequest,
        management: ManagementSocket,
        place: ScanPlace,
        sink: EventSink<ScanEvent>,
        failed: @escaping @Sendable (ScanFailure) -> Void
    ) {
        self.request = request
        self.management = management
        self.place = place
        self.sink = sink
        self.failed = failed
        held = HeldReports(on: place.loop, place.timeline)
    }

    /// Starts, on the loop's thread.
    func begin() {
        held.begin { [weak self] in self?.tell($0) }
        let removals = place.removals()
        let observation = management.observe(
            { [weak self] events in self?.received(events) },
            lost: { [weak self] count in self?.lost(count, since: removals) }
        )
        let monitor = ScanMonitor(through: management, place: place) { [weak self] in self?.monitorChanged($0) }
        let isOver = state.withLock { state in
            if !state.isOver {
                state.observation = observation
                state.monitor = monitor
            }
            return state.isOver
        }
        if isOver { return }
        guard let facts = place.adapter() else { return goOn() }
        place.leftovers.clear(of: facts, through: management) { [weak self] in self?.goOn() }
    }

    /// Ends the scan; the kernel is told before this returns, unless it owes an answer.
    func cancel() {
        let (output, timer, observation, monitor) = state.withLock { state in
            defer {
                state.isOver = true
                state.timer = nil
                state.observation = nil
                state.monitor = nil
            }
            let output = state.isOver ? DiscoveryMachine.Output() : state.machine.cancel()
            return (output, state.timer, state.observation, state.monitor)
        }
        timer?.cancel()
        observation?.cancel()
        held.end()
        if output.command == .stop { stop() }
        monitor?.end()
    }
}

// MARK: - The monitor

extension ManagementScan {
    /// Whether it has a monitor all the time.
    private var hasMonitorAlways: Bool { !request.isActive || request.reportsDuplicates }

    private var monitor: ScanMonitor? { state.withLock { $0.isOver ? nil : $0.monitor } }

    /// Begins, once the leftovers of earlier programs are removed.
    private func goOn() {
        if hasMonitorAlways { monitor?.want() } else { perform { $0.begin() } }
    }

    private func monitorChanged(_ report: MonitorMachine.Output.Report) {
        switch report {
        case .present where request.isActive:
            perform { $0.begin(isUnfiltered: true) }
        case .unavailable where request.isActive:
            // Discovery alone: reports each device now and then.
            perform { $0.lacksMonitor() }
        case .present: announce()
        case .unavailable(let failure): fail(failure ?? .status(.notSupported, .addPatternsMonitor))
        }
    }
}

// MARK: - The discovery

extension ManagementScan {
    private func received(_ events: [ManagementSocket.Event]) {
        var reports: [AdvertisingReport] = []
        var (wentOff, isGone) = (false, false)
        for event in events {
            switch event.event {
            case .deviceFound(let found), .monitorDeviceFound(_, let found):
                take(found, event.time, into: &reports)
            case .discovering(_, isOn: false):
                discoveryEnded()
            case .monitorRemoved(let handle):
                monitor?.removed(handle)
            case .newSettings(let settings) where !settings.contains(.powered):
                wentOff = true
            case .indexRemoved, .extendedIndexRemoved:
                monitor?.adapterIsGone()
                isGone = true
            default:
                break
            }
        }
        tell(reports)
        if isGone { return end(.removed) }
        // That the adapter was removed may be told next: then it may be there again, with another program's monitor.
        if wentOff { management.whenRead { [weak self] in self?.adapterIsOff() } }
    }

    private func adapterIsOff() {
        if !state.withLock({ $0.isOver }) { fail(.status(.notPowered, .startDiscovery)) }
    }

    /// Adds the reports that are complete with this advertisement.
    private func take(_ found: ManagementDeviceFound, _ time: ReceptionTime, into reports: inout [AdvertisingReport]) {
        guard let report = AdvertisingReport(found, time: time) else { return }
        // Thousands come in a second, nearly all of them from devices of which nothing is held.
        if request.isActive && found.mayBeExtendedScannable || held.holds(report.address) {
            let advertisement = HCIAdvertisement(found, from: report.address)
            reports += held.add([advertisement], isActive: request.isActive, time: time)
        } else {
            reports.append(report)
        }
    }

    private func tell(_ reports: [AdvertisingReport]) {
        guard !reports.isEmpty else { return }
        // With a monitor, or another program's discovery, reports may come before the answer to a start.
        announce()
        sink.send(.reports(reports))
    }

    /// Nearly all events of the socket are advertisements: those that the kernel had no room for are reported as such.
    /// What else may be among them is looked for.
    ///
    /// - Parameter removals: how often the adapter had been removed when the scan began.
    private func lost(_ count: Int, since removals: Int) {
        let (hasAnnounced, isOver) = state.withLock { ($0.hasAnnounced, $0.isOver) }
        if isOver { return }
        if hasAnnounced { sink.send(.dropped(count)) }
        let facts = place.adapter()
        guard place.removals() == removals else {
            monitor?.adapterIsGone()
            return end(.removed)
        }
        if let facts, !facts.isUp { return fail(.status(.notPowered, .startDiscovery)) }
        perform { $0.missedEvents() }
        monitor?.missedEvents()
    }

    private func discoveryEnded() {
        let hasNeighbour = place.hasNeighbour()
        perform { $0.discoveryEnded(beside: hasNeighbour) }
    }

    private func perform(_ input: (inout DiscoveryMachine) -> DiscoveryMachine.Output) {
        let (output, isResting) = state.withLock { state in
            (state.isOver ? DiscoveryMachine.Output() : input(&state.machine), state.machine.isResting)
        }
        carryOut(output)
        guard !hasMonitorAlways else { return }
        if isResting { monitor?.want() } else { monitor?.unwant() }
    }

    private func carryOut(_ output: DiscoveryMachine.Output) {
        switch output.timer {
        case .start(let delay):
            let timer = place.timeline.schedule(after: delay) { [weak self, loop = place.loop] in
                loop.enqueue { [weak self] in self?.perform { $0.timerFired() } }
            }
            state.withLock { if !$0.isOver { $0.timer = timer } }
        case .cancel:
            state.withLock { state in
                defer { state.timer = nil }
                return state.timer
            }?.cancel()
        case nil:
            break
        }
        switch output.command {
        case .start: start()
        case .stop:
            stop { [weak self] failure in
                if failure != nil { self?.perform { $0.stopFailed() } }
            }
        case nil: break
        }
        switch output.report {
        case .listening: announce()
        case .failed(let failure): fail(failure)
        case nil: break
        }
    }

    private func start() {
        // The answer is awaited even after the scan was cancelled: a discovery that it reports is stopped.
        let answered: @Sendable (ManagementFailure?) -> Void = { [self] failure in
            if failure?.status == .busy { learnWhoIsBusy(failure) } else { startAnswered(failure, isShared: false) }
        }
        if request.services.isEmpty || request.services.count > Self.maximumServices {
            management.submit(ManagementStartDiscovery()) { answered($0.failure) }
        } else {
            management.submit(ManagementStartServiceDiscovery(services: request.services)) { answered($0.failure) }
        }
    }

    /// The kernel answers Busy where a discovery is under way, and where the controller disallows the command. It ends
    /// no discovery of another type than the one that is named, and rejects the command where there is none. Source:
    /// kernel, `net/bluetooth/mgmt.c`, `mgmt_status_table`, `stop_discovery`.
    private func learnWhoIsBusy(_ failure: ManagementFailure?) {
        let noType: ManagementDiscoveryType = []
        management.submit(ManagementStopDiscovery(noType)) { [self] answer in
            startAnswered(failure, isShared: answer.failure?.status != .rejected)
        }
    }

    private func startAnswered(_ failure: ManagementFailure?, isShared: Bool) {
        let output = state.withLock { $0.machine.startAnswered(failure, isShared: isShared) }
        carryOut(output)
    }

    private func stop(_ answered: @escaping @Sendable (ManagementFailure?) -> Void = { _ in }) {
        management.submit(ManagementStopDiscovery()) { answered($0.failure) }
    }

    /// Reports, once, that the radio listens.
    private func announce() {
        let isFirst = state.withLock { state in
            defer { state.hasAnnounced = true }
            return !state.hasAnnounced
        }
        if isFirst { sink.send(.started) }
    }

    private func fail(_ failure: ManagementFailure) { end(.management(failure)) }

    private func end(_ failure: ScanFailure) {
        cancel()
        failed(failure)
    }
}

extension Result {
    /// What failed; `nil` if nothing did.
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

extension HCIAdvertisement {
    /// What the kernel's event tells of an advertisement.
    fileprivate init(_ found: ManagementDeviceFound, from address: BluetoothAddress) {
        self.address = address
        rssi = found.rssi
        isConnectable = found.isConnectable
        isScannable = found.mayBeExtendedScannable
        isScanResponse = found.flags.contains(.scanResponse)
        data = found.data.bytes[...]
    }
}

extension AdvertisingReport {
    /// Converts the kernel's event for an advertisement; `nil` for a device of classic Bluetooth.
    package init?(_ found: ManagementDeviceFound, time: ReceptionTime) {
        guard let address = found.address.lowEnergy else { return nil }
        self.init(
            address: address,
            rssi: found.rssi,
            isConnectable: found.isConnectable,
            data: found.data,
            time: time
        )
    }
}
