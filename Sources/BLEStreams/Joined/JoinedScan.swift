import BLEProtocol
import BLERadio
import Synchronization

/// A scan on all joined adapters: the reports of each have its name. An adapter that can't scan is left out until it is
/// on again, or for ``pause`` at most; the scan fails when none is left.
final class JoinedScan: Sendable {
    private struct State {
        /// The running scans, by adapter.
        var running: [AdapterChooser.AdapterID: RadioActivity] = [:]
        /// The errors of the others.
        var failures: [AdapterChooser.AdapterID: BLEError] = [:]
        var retries: [AdapterChooser.AdapterID: RadioActivity] = [:]
        /// When the adapters were last on again at once.
        var blips: [AdapterChooser.AdapterID: Duration] = [:]
        var hasStarted = false
        var isOver = false
    }

    /// When to start it again on an adapter that is on.
    private static let pause = Duration.seconds(10)

    private let options: ScanBroker.Options
    private let radio: JoinedRadio
    private let sink: SerialSink<ScanEvent>
    private let state = Mutex(State())

    init(_ request: ScanRequest, on radio: JoinedRadio, _ events: @escaping @Sendable (ScanEvent) -> Void) {
        options = ScanBroker.Options(
            services: request.services,
            isActive: request.isActive,
            reportsDuplicates: request.reportsDuplicates
        )
        self.radio = radio
        sink = SerialSink(events)
    }

    /// Starts on an adapter, unless it runs there already.
    func begin(on member: JoinedRadio.Member) {
        let (id, radio, sink) = (member.id, radio, sink)
        let stop = Stop()
        let activity = RadioActivity { stop.run() }
        let (mayBegin, retry) = state.withLock { state -> (Bool, RadioActivity?) in
            guard !state.isOver, state.running[id] == nil else { return (false, nil) }
            state.running[id] = activity
            state.failures[id] = nil
            return (true, state.retries.removeValue(forKey: id))
        }
        guard mayBegin else { return }
        retry?.cancel()
        stop.add(
            member.scans.watch(
                ScanBroker.Watcher(started: { [weak self] in self?.started() }, heard: { _ in }, stopped: {})
            )
        )
        stop.add(
            member.scans.add(
                options,
                take: { [weak radio] reports in
                    guard let name = radio?.name(of: id) else { return }
                    sink.send(
                        .reports(
                            reports.map { report in
                                var report = report
                                report.adapter = name
                                return report
                            }
                        )
                    )
                },
                lost: { sink.send(.dropped($0)) },
                fail: { [weak self] in self?.failed($0, on: member) }
            )
        )
    }

    func cancel() {
        sink.close()
        finish()
    }

    private func started() {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted && !state.isOver
        }
        if isFirst { sink.send(.started) }
    }

    private func failed(_ error: BLEError, on member: JoinedRadio.Member) {
        let count = radio.members.count
        let (activity, end) = state.withLock { state -> (RadioActivity?, BLEError?) in
            guard !state.isOver else { return (nil, nil) }
            let activity = state.running.removeValue(forKey: member.id)
            state.failures[member.id] = error
            guard state.running.isEmpty, state.failures.count == count else { return (activity, nil) }
            return (activity, Self.gravest(state.failures))
        }
        activity?.cancel()
        if let end {
            finish()
            sink.finish(.failed(end))
        } else if !error.isFinal {
            tryAgain(on: member, after: pause(after: error, on: member))
        }
    }

    /// An adapter that was off or away for a moment has told that it is on before its scan failed, and tells it no
    /// more. One that fails again is left out for longer.
    private func pause(after error: BLEError, on member: JoinedRadio.Member) -> Duration {
        guard error.isAboutAdapter, member.radio.adapterInfo.state == .poweredOn else { return Self.pause }
        let now = radio.timeline.now
        return state.withLock { state in
            if let last = state.blips.updateValue(now, forKey: member.id), now - last < Self.pause { return Self.pause }
            return ConnectMachine.adapterRest
        }
    }

    /// The error to report of several: that of the first adapter that is present at all.
    private static func gravest(_ failures: [AdapterChooser.AdapterID: BLEError]) -> BLEError? {
        let ordered = failures.sorted { $0.key < $1.key }.map(\.value)
        return ordered.first { $0.code != .adapterNotFound } ?? ordered.first
    }

    private func tryAgain(on member: JoinedRadio.Member, after pause: Duration) {
        let timer = radio.timeline.schedule(after: pause) { [weak self] in
            guard let self else { return }
            state.withLock { _ = $0.retries.removeValue(forKey: member.id) }
            // An adapter that is off reports when it is on.
            if member.radio.adapterInfo.state == .poweredOn { begin(on: member) }
        }
        let isOver = state.withLock { state in
            if !state.isOver, state.running[member.id] == nil { state.retries[member.id] = timer }
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    private func finish() {
        let activities = state.withLock { state -> [RadioActivity] in
            defer {
                state = State()
                state.isOver = true
            }
            let running = state.running.sorted { $0.key < $1.key }.map(\.value)
            return running + state.retries.sorted { $0.key < $1.key }.map(\.value)
        }
        for activity in activities { activity.cancel() }
        radio.end(self)
    }

    /// Ends the scan on one adapter; may be called before everything that must be ended is known.
    private final class Stop: Sendable {
        private let actions = Mutex<[@Sendable () -> Void]?>([])

        func add(_ action: @escaping @Sendable () -> Void) {
            let isLate = actions.withLock { actions in
                actions?.append(action)
                return actions == nil
            }
            if isLate { action() }
        }

        func run() {
            for action in actions.withLock({ $0.take() }) ?? [] { action() }
        }
    }
}
