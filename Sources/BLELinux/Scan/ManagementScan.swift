package import BLEProtocol
package import BLERadio
internal import Synchronization

/// A scan over the management socket: discovery for an active one, an advertisement monitor for a passive one.
///
/// The controller reports each device once per discovery. With a monitor registered the kernel switches that
/// filter off, so an active scan that wants every advertisement has a monitor beside its discovery.
final class ManagementScan: ScanWay {
    private struct State {
        var machine = DiscoveryMachine()
        var timer: RadioActivity?
        var observation: RadioActivity?
        var monitor: UInt16?
        var hasAnnounced = false
        var isOver = false
    }

    private let request: ScanRequest
    private let management: ManagementSocket
    private let loop: EventLoop
    private let timeline: any Timeline
    private let sink: EventSink<ScanEvent>
    private let failed: @Sendable (ScanFailure) -> Void
    private let state = Mutex(State())

    /// The services that fit a command beside all else; a scan for more is filtered above.
    private static let maximumServices = 64

    init(
        _ request: ScanRequest,
        management: ManagementSocket,
        loop: EventLoop,
        timeline: any Timeline,
        sink: EventSink<ScanEvent>,
        failed: @escaping @Sendable (ScanFailure) -> Void
    ) {
        self.request = request
        self.management = management
        self.loop = loop
        self.timeline = timeline
        self.sink = sink
        self.failed = failed
    }

    /// Starts, on the loop's thread.
    func begin() {
        let observation = management.observe(
            { [weak self] events in self?.received(events) },
            lost: { [weak self] count in self?.lost(count) }
        )
        let isOver = state.withLock { state in
            if !state.isOver { state.observation = observation }
            return state.isOver
        }
        if isOver { return }
        if request.isActive, !request.reportsDuplicates {
            perform { $0.begin() }
        } else {
            addMonitor()
        }
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
        if output.command == .stop { stop() }
        if let monitor { management.submit(ManagementRemoveMonitor(handle: monitor)) { _ in } }
    }
}

// MARK: - The monitor

extension ManagementScan {
    /// Any pattern will do: the kernel looks at none of them, unless the controller can.
    private static let pattern = ManagementAdvertisingPattern(type: 0x01, value: [0x06])

    private func addMonitor() {
        management.submit(ManagementReadMonitorFeatures()) { [self] features in
            // A controller that can match patterns would report those that match and no others.
            guard case .success(let features) = features, features.supported == 0 else {
                return monitorIsUnavailable(features.failure)
            }
            management.submit(ManagementAddPatternsMonitor([Self.pattern])) { [self] answer in
                switch answer {
                case .failure(let failure): monitorIsUnavailable(failure)
                case .success(let monitor): monitorWasAdded(monitor.handle)
                }
            }
        }
    }

    private func monitorIsUnavailable(_ failure: ManagementFailure?) {
        if request.isActive {
            // Discovery alone: each device once in a while.
            perform { $0.begin() }
        } else {
            fail(failure ?? .status(.notSupported, .addPatternsMonitor))
        }
    }

    private func monitorWasAdded(_ handle: UInt16) {
        let isOver = state.withLock { state in
            if !state.isOver { state.monitor = handle }
            return state.isOver
        }
        if isOver {
            management.submit(ManagementRemoveMonitor(handle: handle)) { _ in }
        } else if request.isActive {
            perform { machine in
                machine = DiscoveryMachine(isUnfiltered: true)
                return machine.begin()
            }
        } else {
            announce()
        }
    }

    /// Another program, bluetoothd at its start for one, has removed the monitor.
    private func monitorWasRemoved(_ handle: UInt16) {
        let wasOurs = state.withLock { state in
            // Handle 0 stands for all.
            guard let monitor = state.monitor, handle == monitor || handle == 0 else { return false }
            state.monitor = nil
            return true
        }
        if wasOurs, !request.isActive { addMonitor() }
    }
}

// MARK: - The discovery

extension ManagementScan {
    private func received(_ events: [ManagementSocket.Event]) {
        var reports: [AdvertisingReport] = []
        var ending: ManagementFailure?
        for event in events {
            switch event.event {
            case .deviceFound(let found), .monitorDeviceFound(_, let found):
                if let report = AdvertisingReport(found, time: event.time) { reports.append(report) }
            case .discovering(_, isOn: false):
                perform { $0.discoveryEnded() }
            case .monitorRemoved(let handle):
                monitorWasRemoved(handle)
            case .newSettings(let settings) where !settings.contains(.powered):
                ending = .status(.notPowered, .startDiscovery)
            case .indexRemoved, .extendedIndexRemoved:
                ending = .status(.invalidIndex, .startDiscovery)
            default:
                break
            }
        }
        if !reports.isEmpty {
            // With a monitor, or another program's discovery, they may come before the answer to a start.
            announce()
            sink.send(.reports(reports))
        }
        if let ending { fail(ending) }
    }

    /// Nearly all of what the socket brings are advertisements: what the kernel had no room for is told as such.
    private func lost(_ count: Int) {
        let isWanted = state.withLock { $0.hasAnnounced && !$0.isOver }
        if isWanted { sink.send(.dropped(count)) }
    }

    private func perform(_ input: (inout DiscoveryMachine) -> DiscoveryMachine.Output) {
        let output = state.withLock { state in state.isOver ? DiscoveryMachine.Output() : input(&state.machine) }
        carryOut(output)
    }

    private func carryOut(_ output: DiscoveryMachine.Output) {
        switch output.timer {
        case .start(let delay):
            let timer = timeline.schedule(after: delay) { [weak self, loop] in
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
        // The answer is waited for even after the scan was cancelled: a discovery that it tells of is stopped.
        let answered: @Sendable (ManagementFailure?) -> Void = { [self] failure in
            let output = state.withLock { $0.machine.startAnswered(failure) }
            carryOut(output)
        }
        if request.services.isEmpty || request.services.count > Self.maximumServices {
            management.submit(ManagementStartDiscovery()) { answered($0.failure) }
        } else {
            management.submit(ManagementStartServiceDiscovery(services: request.services)) { answered($0.failure) }
        }
    }

    private func stop(_ answered: @escaping @Sendable (ManagementFailure?) -> Void = { _ in }) {
        management.submit(ManagementStopDiscovery()) { answered($0.failure) }
    }

    /// Tells, once, that the radio listens.
    private func announce() {
        let isFirst = state.withLock { state in
            defer { state.hasAnnounced = true }
            return !state.hasAnnounced
        }
        if isFirst { sink.send(.started) }
    }

    private func fail(_ failure: ManagementFailure) {
        cancel()
        failed(.management(failure))
    }
}

extension Result {
    /// What went wrong; `nil` where nothing did.
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

extension AdvertisingReport {
    /// What the kernel says of an advertisement; `nil` for a device of classic Bluetooth.
    package init?(_ found: ManagementDeviceFound, time: ReceptionTime) {
        guard let address = found.address.lowEnergy else { return nil }
        self.init(
            address: address,
            rssi: found.rssi,
            isConnectable: !found.flags.contains(.notConnectable),
            data: found.data,
            time: time
        )
    }
}
