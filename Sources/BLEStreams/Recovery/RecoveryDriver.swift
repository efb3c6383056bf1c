import BLEProtocol
import BLERadio
import Synchronization

/// Carries out what the ``RecoveryMachine`` of one central decides, and reports it to observers.
///
/// It holds one timer during scans, another during connection attempts, and nothing else while the adapter works.
final class RecoveryDriver: Sendable {
    private struct State {
        var machine: RecoveryMachine
        var timers: [RecoveryMachine.TimerID: RadioActivity] = [:]
        /// Counts the timers: a replaced one is ignored.
        var starts: [RecoveryMachine.TimerID: Int] = [:]
        var watchers = Observers<@Sendable (AdapterTrouble) -> Void>()
        var wasOn = true
        /// How many links this central has through the adapter; the radio may not know of them.
        var links = 0
        /// The attempts to connect, whether they are paused for a step, and the listening for them.
        var attempts = Observers<Attempt>()
        var arePaused = false
        var listening: AttemptListening
        var listeningTimer: RadioActivity?
        var listener: RadioActivity?
        /// The activities that report the adapter's changes.
        var sources: [RadioActivity] = []
    }

    let radio: any Radio
    let scans: ScanBroker
    private let state: Mutex<State>

    /// - Parameter identity: the identity behind a private address; the address itself if that is unknown.
    init(
        _ plan: RecoveryPlan,
        radio: any Radio,
        scans: ScanBroker,
        identity: @escaping @Sendable (BluetoothAddress) -> BluetoothAddress
    ) {
        self.radio = radio
        self.scans = scans
        let listening = AttemptListening(patience: plan.silence, identity: identity)
        state = Mutex(State(machine: RecoveryMachine(plan), listening: listening))
    }

    /// Watches from now on, for the lifetime of this object.
    func begin() {
        scans.holdFailures { [weak self] in self?.state.withLock { $0.machine.isCuring } ?? false }
        let leave = scans.watch(
            ScanBroker.Watcher(
                started: { [weak self] in self?.scanStarted() },
                heard: { [weak self] reports in
                    guard let self else { return }
                    let now = radio.timeline.now
                    perform { $0.heard() }
                    listen { $0.heard(reports.map(\.address), at: now) }
                },
                stopped: { [weak self] in
                    self?.state.withLock { $0.listening.scanStopped() }
                    self?.perform { $0.scanStopped() }
                }
            )
        )
        let symptoms = radio.observeSymptoms { [weak self] symptom in self?.perform { $0.noticed(symptom) } }
        let adapter = radio.observeAdapter { [weak self] info in self?.adapterIs(info.state) }
        state.withLock { $0.sources = [RadioActivity(onCancel: leave), symptoms, adapter] }
    }

    /// Reports troubles until the returned closure is called.
    func watch(_ events: @escaping @Sendable (AdapterTrouble) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.watchers.add(events) }
        return { [weak self] in _ = self?.state.withLock { $0.watchers.remove(id) } }
    }

    private func adapterIs(_ now: AdapterInfo.State) {
        let hasReturned = state.withLock { state in
            defer { state.wasOn = now == .poweredOn }
            return now == .poweredOn && !state.wasOn
        }
        guard hasReturned else { return }
        perform { $0.adapterReturned() }
        listen { $0.adapterReturned() }
    }

    private func scanStarted() {
        let missesOthers = state.withLock { state in
            state.listening.scanStarted()
            return state.listening.missesOthers
        }
        perform { $0.scanStarted(missesOthers: missesOthers) }
    }

    func perform(_ input: (inout RecoveryMachine) -> RecoveryMachine.Output) {
        let output = state.withLock { input(&$0.machine) }
        if output != RecoveryMachine.Output() { carryOut(output) }
    }

    private func carryOut(_ output: RecoveryMachine.Output) {
        for timer in output.timers {
            switch timer {
            case .start(let id, let delay): start(id, delay)
            case .cancel(let id): state.withLock { $0.timers.removeValue(forKey: id) }?.cancel()
            }
        }
        for report in output.reports {
            tell(AdapterTrouble(report))
            switch report {
            // A scan whose failure was held continues, or fails.
            case .recovered: scans.resume()
            case .unresolved:
                // Before the scan: the result of restarting it is known.
                listen { $0.giveUp() }
                scans.giveUp()
            case .noticed, .trying: break
            }
        }
        if output.endsScan { scans.giveUp() }
        // Only a scan shows that the adapter works after all: one whose failure was held continues, or fails.
        if state.withLock({ $0.machine.isSparing }) { scans.resume() }
        switch output.step {
        case .restartScan?: restartScan()
        case .powerCycle?: powerCycle()
        case .reset?: reset()
        case nil: break
        }
    }

    private func start(_ id: RecoveryMachine.TimerID, _ delay: Duration) {
        let number = state.withLock { state in
            state.starts[id, default: 0] += 1
            return state.starts[id]
        }
        let timer = radio.timeline.schedule(after: delay) { [weak self] in
            guard let self else { return }
            let (isLast, hasLinks) = self.state.withLock { ($0.starts[id] == number, $0.links > 0) }
            guard isLast else { return }
            // A step ends the links of a server, of another central and of other programs just the same.
            let isLinked = hasLinks || radio.isLinked
            let state = radio.adapterInfo.state
            perform { $0.timerFired(id, besideLinks: isLinked, isOff: state == .poweredOff || state == .blocked) }
        }
        let former = state.withLock { state in state.timers.updateValue(timer, forKey: id) }
        former?.cancel()
    }

    private func tell(_ trouble: AdapterTrouble) {
        for watcher in state.withLock({ $0.watchers.all }) { watcher(trouble) }
    }

    // MARK: - Steps

    private func restartScan() {
        scans.suspend()
        scans.resume()
        perform { $0.stepEnded(succeeded: true) }
    }

    private func powerCycle() {
        pauseAttempts()
        // A kernel that can't end its scan doesn't let the adapter be switched off.
        scans.suspend()
        // Retained until the adapter is on again, whatever is released meanwhile.
        radio.powerCycle { [self] in ended(.powerCycle, $0) }
    }

    private func reset() {
        pauseAttempts()
        scans.suspend()
        unattended({ radio.reset(result: $0) }, answer: { [self] in ended(.reset, $0) })
    }

    private func ended(_ step: RecoveryPlan.Step, _ outcome: Result<Void, BLEError>) {
        switch outcome {
        case .success:
            scans.resume()
            perform { $0.stepEnded(succeeded: true) }
        case .failure(let error):
            tell(.failed(step, error))
            perform { $0.stepEnded(succeeded: false, isOverruled: error.saysSwitchedOffMeanwhile) }
        }
        resumeAttempts()
    }

    private func pauseAttempts() {
        let attempts = state.withLock { state in
            state.arePaused = true
            return state.attempts.all
        }
        for attempt in attempts { attempt.pause() }
    }

    /// Resumes the attempts, unless the next step is in progress.
    private func resumeAttempts() {
        let attempts = state.withLock { state -> [Attempt] in
            guard state.arePaused, !state.machine.isStepUnderWay else { return [] }
            state.arePaused = false
            return state.attempts.all
        }
        for attempt in attempts { attempt.resume() }
    }

    // MARK: - State of the attempts

    var arePaused: Bool { state.withLock { $0.arePaused } }

    func add(_ attempt: Attempt) -> Int { state.withLock { $0.attempts.add(attempt) } }

    /// Removes an attempt; returns whether it was there.
    func remove(_ attempt: Int) -> Bool {
        let removed = state.withLock { $0.attempts.remove(attempt) }
        return removed != nil
    }

    /// Counts a link; the returned closure, which is called once, records its end.
    func countLink() -> @Sendable () -> Void {
        state.withLock { $0.links += 1 }
        return { [weak self] in self?.state.withLock { $0.links -= 1 } }
    }

    /// Records that another of the joined adapters has a link to the peer.
    func linkedElsewhere(_ peer: BluetoothAddress) { state.withLock { $0.listening.linkedElsewhere(peer) } }

    func change(_ input: (inout AttemptListening) -> AttemptListening.Output) -> AttemptListening.Output {
        state.withLock { input(&$0.listening) }
    }

    func keep(timer: RadioActivity?) {
        let former = state.withLock { state in
            defer { state.listeningTimer = timer }
            return state.listeningTimer
        }
        former?.cancel()
    }

    /// Keeps the listening activity while it is wanted, which may no longer be the case.
    func keep(listening: RadioActivity?) {
        let superfluous = state.withLock { state -> RadioActivity? in
            guard state.listening.isListening || listening == nil else { return listening }
            defer { state.listener = listening }
            return state.listener
        }
        superfluous?.cancel()
    }
}

extension AdapterTrouble {
    fileprivate init(_ report: RecoveryMachine.Output.Report) {
        switch report {
        case .noticed(let symptom): self = .noticed(symptom)
        case .trying(let step, let number): self = .trying(step, number: number)
        case .recovered(let count): self = .recovered(after: count)
        case .unresolved(let symptom, let count): self = .unresolved(symptom, after: count)
        }
    }
}
