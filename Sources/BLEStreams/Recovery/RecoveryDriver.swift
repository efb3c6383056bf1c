import BLEProtocol
import BLERadio
import Synchronization

/// Does what the ``RecoveryMachine`` of one central says, and tells whoever wants to know.
///
/// It holds one timer while somebody scans, and nothing else while all is well.
final class RecoveryDriver: Sendable {
    private struct State {
        var machine: RecoveryMachine
        var timers: [RecoveryMachine.TimerID: RadioActivity] = [:]
        /// Counts the timers: one that was replaced says nothing any more.
        var starts: [RecoveryMachine.TimerID: Int] = [:]
        /// What is being done about the adapter.
        var step: RadioActivity?
        var watchers: [Int: @Sendable (AdapterTrouble) -> Void] = [:]
        var nextWatcher = 0
        var wasOn = true
        /// What keeps it informed.
        var sources: [RadioActivity] = []
    }

    private let radio: any Radio
    private let scans: ScanBroker
    private let state: Mutex<State>

    init(_ plan: RecoveryPlan, radio: any Radio, scans: ScanBroker) {
        self.radio = radio
        self.scans = scans
        state = Mutex(State(machine: RecoveryMachine(plan)))
    }

    /// Watches from now on, for as long as it is there.
    func begin() {
        scans.holdFailures { [weak self] in self?.state.withLock { $0.machine.isCuring } ?? false }
        let leave = scans.watch(
            ScanBroker.Watcher(
                started: { [weak self] in self?.perform { $0.scanStarted() } },
                heard: { [weak self] _ in self?.perform { $0.heard() } },
                stopped: { [weak self] in self?.perform { $0.scanStopped() } }
            )
        )
        let symptoms = radio.observeSymptoms { [weak self] symptom in self?.perform { $0.noticed(symptom) } }
        let adapter = radio.observeAdapter { [weak self] info in self?.adapterIs(info.state) }
        state.withLock { $0.sources = [RadioActivity(onCancel: leave), symptoms, adapter] }
    }

    /// Tells of troubles from now on; what is returned ends that.
    func watch(_ events: @escaping @Sendable (AdapterTrouble) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = events
            return state.nextWatcher
        }
        return { [weak self] in _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) } }
    }

    private func adapterIs(_ now: AdapterState) {
        let hasReturned = state.withLock { state in
            defer { state.wasOn = now == .poweredOn }
            return now == .poweredOn && !state.wasOn
        }
        if hasReturned { perform { $0.adapterReturned() } }
    }

    private func perform(_ input: (inout RecoveryMachine) -> RecoveryMachine.Output) {
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
            // What was held meanwhile goes on, or fails.
            case .recovered: scans.resume()
            case .unresolved: scans.giveUp()
            case .noticed, .trying: break
            }
        }
        switch output.step {
        case .restartScan?: restartScan()
        case .powerCycle?: powerCycle()
        case nil: break
        }
    }

    private func start(_ id: RecoveryMachine.TimerID, _ delay: Duration) {
        let number = state.withLock { state in
            state.starts[id, default: 0] += 1
            return state.starts[id]
        }
        let timer = radio.timeline.schedule(after: delay) { [weak self] in
            guard let self, self.state.withLock({ $0.starts[id] }) == number else { return }
            self.perform { $0.timerFired(id) }
        }
        let former = state.withLock { state in state.timers.updateValue(timer, forKey: id) }
        former?.cancel()
    }

    private func tell(_ trouble: AdapterTrouble) {
        let watchers = state.withLock { $0.watchers.sorted { $0.key < $1.key }.map(\.value) }
        for watcher in watchers { watcher(trouble) }
    }

    // MARK: - Steps

    private func restartScan() {
        scans.suspend()
        scans.resume()
        perform { $0.stepEnded(succeeded: true) }
    }

    private func powerCycle() {
        // A kernel that can't end its scan doesn't let the adapter be switched off.
        scans.suspend()
        // Stays there until the adapter is on again, whoever leaves meanwhile.
        setPowered(false) { [self] in
            setPowered(true) { [self] in
                scans.resume()
                perform { $0.stepEnded(succeeded: true) }
            }
        }
    }

    private func setPowered(_ isOn: Bool, then next: @escaping @Sendable () -> Void) {
        let activity = radio.setPowered(isOn) { [self] outcome in
            let over = state.withLock { $0.step.take() }
            switch outcome {
            case .success:
                next()
            case .failure(let error):
                tell(.failed(.powerCycle, error))
                perform { $0.stepEnded(succeeded: false) }
            }
            withExtendedLifetime(over) {}
        }
        state.withLock { $0.step = activity }
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
