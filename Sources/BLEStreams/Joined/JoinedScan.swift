import BLEProtocol
import BLERadio
import Synchronization

/// A scan on all joined adapters: what each hears is reported, with its name. One that can't go on is left out until it is
/// on again, or for ``pause``; the scan fails when none is left.
final class JoinedScan: Sendable {
    private struct State {
        /// What ends it on each adapter where it goes on.
        var running: [AdapterChooser.AdapterID: RadioActivity] = [:]
        /// Why it doesn't on the others.
        var failures: [AdapterChooser.AdapterID: BLEError] = [:]
        var retries: [AdapterChooser.AdapterID: RadioActivity] = [:]
        var hasStarted = false
        var isOver = false
    }

    /// After how long it is begun again on an adapter that is on.
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

    /// Begins on an adapter, where it doesn't go on already.
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
            tryAgain(on: member)
        }
    }

    /// Of what keeps the adapters from scanning, that which is said: of the first that is there at all.
    private static func gravest(_ failures: [AdapterChooser.AdapterID: BLEError]) -> BLEError? {
        let ordered = failures.sorted { $0.key < $1.key }.map(\.value)
        return ordered.first { $0.code != .adapterNotFound } ?? ordered.first
    }

    private func tryAgain(on member: JoinedRadio.Member) {
        let timer = radio.timeline.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            state.withLock { _ = $0.retries.removeValue(forKey: member.id) }
            // One that is off tells when it is on.
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
            return Array(state.running.values) + Array(state.retries.values)
        }
        for activity in activities { activity.cancel() }
        radio.end(self)
    }

    /// What ends the scan on one adapter, which may be asked for before all is known that has to be ended.
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
