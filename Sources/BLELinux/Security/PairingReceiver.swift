internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Answers the kernel's questions in the pairings that centrals begin, and reports the outcomes.
///
/// The kernel asks every program on the management socket, about every pairing on the adapter. So only questions about
/// a central that has connected to this adapter are answered: the others are for the pairings that this machine has
/// begun.
final class PairingReceiver: Sendable {
    /// A connected central, and the current pairing with it.
    struct Caller: Sendable {
        var keys: GatheredKeys
        /// Passes the kernel's questions to the program.
        var dialogue: PairingDialogue?
        /// Waits for the second key of a legacy pairing.
        var patience: RadioActivity?
        /// Whether the end of the pairing may be among events that were lost.
        var mayHaveEnded = false
        /// Whether what it pairs is being ended, since its question may be among events that were lost.
        var isEnding = false

        /// Removes and returns the pairing that has ended.
        mutating func takePairing() -> (dialogue: PairingDialogue?, patience: RadioActivity?) {
            defer {
                keys.startAgain()
                dialogue = nil
                patience = nil
                mayHaveEnded = false
            }
            return (dialogue, patience)
        }
    }

    struct State {
        var observation: RadioActivity?
        /// The connected centrals, by the addresses of their links.
        var callers: [BluetoothAddress: Caller] = [:]
        var agent: PairingAgent?
        /// The outcome of the agent's registration.
        var agentOutcome = PairingAgent.Outcome.notNeeded
        /// Whether a bluetoothd has come or left meanwhile: the list of processes, read before, says nothing any more.
        var hasBluetoothdChanged = false
        /// Whether the adapter's settings are held.
        var holdsSettings = false
        var hasSetCapability = false
        /// The notes of the capability and of out-of-band data, which the kernel keeps.
        var note: LeftoverNote?
        var dataNote: LeftoverNote?
        /// The set-up of bluetoothd and the kernel; a bluetoothd that starts meanwhile must be set up too.
        var gettingReady = OneAtATime()
        /// The question to the kernel who is connected, at the beginning and after a loss of events.
        var looking = OneAtATime()
        var isOver = false
    }

    let reception: PairingReception
    let surroundings: PairingSurroundings
    let sink: EventSink<PairingReceptionEvent>
    let state = Mutex(State())
    private let watch = BluetoothdWatch()
    private let failure: @Sendable (ManagementFailure) -> BLEError

    private var management: ManagementSocket { surroundings.management }

    /// - Parameter failure: the error for a command that the kernel has refused.
    init(
        _ reception: PairingReception,
        in surroundings: PairingSurroundings,
        failure: @escaping @Sendable (ManagementFailure) -> BLEError,
        sink: EventSink<PairingReceptionEvent>
    ) {
        self.reception = reception
        self.surroundings = surroundings
        self.failure = failure
        self.sink = sink
    }

    /// Starts, on the loop's thread.
    func begin() {
        let observation = management.observe { [weak self] events in
            for event in events { self?.received(event.event) }
        } lost: { [weak self] _ in
            self?.missedEvents()
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.observation = observation }
            _ = state.gettingReady.begin()
            return state.isOver
        }
        if isOver { return observation.cancel() }
        findPresent()
        if reception.interview != nil, surroundings.bus.isThere {
            let (loop, timeline) = (surroundings.loop, surroundings.timeline)
            watch.begin(over: surroundings.bus, loop: loop, timeline: timeline) { [weak self] in
                self?.bluetoothdCame()
            } left: { [weak self] in
                self?.bluetoothdLeft()
            }
        }
        getReady()
    }

    /// A bluetoothd has started, which doesn't know this agent.
    func bluetoothdCame() {
        let mayBegin = state.withLock { state in
            state.hasBluetoothdChanged = true
            return !state.isOver && state.gettingReady.begin()
        }
        if mayBegin { getReadyAgain() }
    }

    /// A bluetoothd has left. If this program was its agent, the agent tells that, too.
    func bluetoothdLeft() {
        state.withLock { state in
            state.hasBluetoothdChanged = true
            if case .failed = state.agentOutcome { state.agentOutcome = .notNeeded }
        }
    }

    private func getReadyAgain() {
        let former = state.withLock { $0.agent.take() }
        former?.end()
        // What the bluetoothd before it has asked needs no answer any more; the kernel does.
        bluetoothdAsked(.released)
        getReady()
    }

    private func getReady() {
        becomeAgent { [self] in
            // A reception that refuses leaves the adapter as it is.
            guard reception.interview != nil else { return setCapability() }
            let answered: PairingSettings.Answer = { [self] failure in
                if let failure { fail(failure) } else { setCapability() }
            }
            let (isHeld, isOver) = state.withLock { ($0.holdsSettings, $0.isOver) }
            if isOver { return }
            if isHeld { return surroundings.settings.prepare(answered) }
            surroundings.settings.hold(answered)
            let isHeldInVain = state.withLock { state in
                state.holdsSettings = !state.isOver
                return state.isOver
            }
            if isHeldInVain { surroundings.settings.release() }
        }
    }

    /// Ends it without further events. The kernel is told before this returns.
    func cancel() {
        sink.close()
        end()
    }

    /// Makes bluetoothd ask this program, if it runs. A reception that refuses needs no questions.
    private func becomeAgent(_ next: @escaping @Sendable () -> Void) {
        guard reception.interview != nil else { return next() }
        guard surroundings.bus.isThere else {
            let isMissed = surroundings.bluetoothd == .here
            let reason = BusFailure.unreachable("there is no \(surroundings.bus.address)")
            if isMissed { state.withLock { $0.agentOutcome = .failed(reason) } }
            return next()
        }
        let agent = PairingAgent(
            for: nil,
            on: surroundings.adapter,
            as: reception.capability,
            loop: surroundings.loop,
            timeline: surroundings.timeline
        ) { [weak self] meaning in
            self?.bluetoothdAsked(meaning)
        }
        let isOver = state.withLock { state in
            if !state.isOver { (state.agent, state.agentOutcome) = (agent, .awaited) }
            return state.isOver
        }
        if isOver { return }
        agent.begin(over: surroundings.bus) { [self] outcome in
            state.withLock { $0.agentOutcome = outcome }
            next()
        }
    }

    /// The kernel applies the capability when a link is made.
    private func setCapability() {
        guard !state.withLock({ $0.isOver }) else { return }
        let note = noteCapability()
        let isVain = state.withLock { state in
            // Nobody would put it back any more.
            if state.isOver { return true }
            state.hasSetCapability = true
            state.note = note ?? state.note
            // Under the lock: whoever ends the reception puts it back behind this.
            management.submit(ManagementSetIOCapability(.init(reception.capability))) { [self] answer in
                if case .failure(let failure) = answer {
                    // The kernel has refused: there is nothing to put back.
                    if failure.status != nil { note?.forget() }
                    return fail(failure)
                }
                capabilityIsSet()
            }
            return false
        }
        if isVain { note?.forget() }
    }

    private func capabilityIsSet() {
        tellOutOfBandData(true) { [self] failure in
            if let failure { return fail(failure) }
            let isAgain = state.withLock { $0.gettingReady.end() && !$0.isOver }
            if isAgain { bluetoothdCame() } else { sink.send(.started) }
        }
    }

    /// Notes the capability in case this program is killed. Returns the note, unless there was one before.
    private func noteCapability() -> LeftoverNote? {
        guard reception.capability != .noInputNoOutput, state.withLock({ $0.note }) == nil,
            let facts = surroundings.facts()
        else { return nil }
        return surroundings.leftovers.note(KernelThing(.capability, 0, of: facts))
    }

    /// Gives the kernel a central's out-of-band data, or removes it; the kernel finds it by the central's address.
    private func tellOutOfBandData(_ isOn: Bool, _ answered: @escaping @Sendable (ManagementFailure?) -> Void) {
        guard let data = reception.outOfBand, let central = data.address else { return answered(nil) }
        let address = ManagementAddress(central)
        let isNoted = state.withLock { $0.dataNote != nil }
        let new = isOn && !isNoted ? surroundings.noteOutOfBandData() : nil
        let isVain = state.withLock { state in
            // Nobody would remove it any more.
            if isOn, state.isOver { return true }
            if isOn { state.dataNote = new ?? state.dataNote }
            let former = isOn ? nil : state.dataNote.take()
            // Under the lock: whoever ends the reception removes it behind this.
            management.submit(ManagementAddRemoteOutOfBandData(address, data: isOn ? data : nil)) { answer in
                former?.forget(unless: answer.failure)
                answered(answer.failure)
            }
            return false
        }
        if isVain { new?.forget() }
    }

    private func fail(_ failure: ManagementFailure) {
        end()
        sink.finish(.ended(self.failure(failure)))
    }

    private func end() {
        let ended = state.withLock { state in
            defer {
                state.isOver = true
                state.observation = nil
                state.agent = nil
                state.callers = [:]
                state.holdsSettings = false
                state.hasSetCapability = false
                state.note = nil
            }
            return state
        }
        ended.observation?.cancel()
        for caller in ended.callers.values {
            caller.dialogue?.end()
            // The kernel asks once, and ends a link on which nobody answers; the link may outlast this reception. An
            // answer that comes at this moment no longer counts, or has been passed on.
            _ = caller.dialogue?.refuse()
            caller.patience?.cancel()
        }
        ended.agent?.end()
        watch.end()
        // The kernel's own default. If bluetoothd had this program as its agent, it sets the capability of the next
        // agent.
        if ended.hasSetCapability, reception.capability != .noInputNoOutput, ended.agentOutcome != .ready {
            management.submit(ManagementSetIOCapability(.noInputNoOutput)) { answer in
                ended.note?.forget(unless: answer.failure)
            }
        } else {
            ended.note?.forget()
        }
        if ended.hasSetCapability { tellOutOfBandData(false) { _ in } }
        if ended.holdsSettings { surroundings.settings.release() }
    }
}
