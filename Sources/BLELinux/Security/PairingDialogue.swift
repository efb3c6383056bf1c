internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Passes the kernel's questions in one pairing to the program, and the answer, once, to the kernel or to bluetoothd.
///
/// If bluetoothd runs, the kernel asks it too: ``PairingAgent`` and ``PairingConsent`` ensure that both give the same
/// answer, once.
final class PairingDialogue: Sendable {
    private struct State {
        var consent = PairingConsent()
        var agent: PairingAgent?
        /// Until bluetoothd has asked, no other pairing registers an agent.
        var turn: AgentTurn?
        /// The outcome of the agent's registration.
        var agentOutcome = PairingAgent.Outcome.notNeeded
        /// Whether the bluetoothd that had the agent has left since: one that comes behind it knows none.
        var hasBluetoothdLeft = false
        /// The timer after which this program answers the kernel because bluetoothd doesn't.
        var patience: RadioActivity?
        /// When the program was asked.
        var asked: Duration?
        var isOver = false
    }

    /// Which side has begun the pairing.
    enum Role: Hashable, Sendable {
        case initiator
        /// The peer has; with the answer if the kernel only asks whether to pair.
        case responder(consent: PairingQuestion.Answer)
    }

    private let role: Role
    private let peer: BluetoothAddress
    private let adapter: String
    private let interview: PairingInterview
    private let management: ManagementSocket
    private let bus: SystemBus
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state: Mutex<State>
    private let bluetoothd: Bluetoothd.Presence

    /// How long bluetoothd may take to ask its agent after the kernel has asked.
    static let patience = Duration.seconds(3)

    /// How long the Security Manager waits for a step. Source: Core Specification, Vol 3, Part H, 3.4.
    static let stepLimit = Duration.seconds(30)

    /// How long the kernel's question may take to reach this program, on a machine that is busy.
    private static let questionsWay = Duration.seconds(5)

    /// - Parameters:
    ///   - role: which side has begun it.
    ///   - adapter: the system's name for the adapter: `hci0`.
    ///   - bus: the bus on which bluetoothd is reached.
    ///   - bluetoothd: whether it runs, as far as the list of processes shows.
    init(
        with peer: BluetoothAddress,
        as role: Role = .initiator,
        on adapter: String,
        asking interview: PairingInterview,
        management: ManagementSocket,
        bus: SystemBus,
        bluetoothd: Bluetoothd.Presence,
        loop: EventLoop,
        timeline: any Timeline
    ) {
        self.peer = peer
        self.role = role
        var state = State()
        if case .responder(let consent) = role { state.consent.consent = consent }
        self.state = Mutex(state)
        self.adapter = adapter
        self.interview = interview
        self.management = management
        self.bus = bus
        self.bluetoothd = bluetoothd
        self.loop = loop
        self.timeline = timeline
    }

    /// Whether bluetoothd was there when this began.
    var beganBesideBluetoothd: Bool { bluetoothd == .here || state.withLock { $0.agentOutcome == .ready } }

    /// Whether it has been there ever since. It may inspect a new bond's services.
    var isBesideBluetoothd: Bool { beganBesideBluetoothd && !state.withLock { $0.hasBluetoothdLeft } }

    /// Whether bluetoothd is known to have no part in it.
    var isAlone: Bool { bluetoothd != .here && state.withLock { $0.agentOutcome == .notNeeded } }

    /// Whether the capability allowed questions here, but the kernel has asked nothing and shown nothing.
    var wasNobodyAsked: Bool {
        interview.capability != .noInputNoOutput
            && state.withLock { !$0.consent.wasAsked && $0.consent.question == nil }
    }

    /// Whether the kernel has asked its question, or shown its passkey, or the answer is known without: in each
    /// pairing, it asks or shows one.
    var wasAsked: Bool {
        state.withLock { $0.consent.wasAsked || $0.consent.question != nil || $0.consent.answer != nil }
    }

    /// Whether this side has agreed.
    var hasAgreed: Bool {
        state.withLock { state in
            switch state.consent.answer {
            case nil, .refuse?: false
            default: true
            }
        }
    }

    /// Whether the kernel has asked, and this side has not refused: it has agreed, or a person is still to answer.
    var isUnrefused: Bool {
        state.withLock { state in
            if case .refuse? = state.consent.answer { return false }
            return state.consent.wasAsked
        }
    }

    /// When the program was asked last; `nil` if it was not.
    var lastQuestion: Duration? { state.withLock { $0.asked } }

    /// Makes bluetoothd ask this program, if it runs. Calls back in any case, on the loop's thread: some kernels ask
    /// nothing.
    func begin(_ ready: @escaping @Sendable () -> Void) {
        guard bus.isThere else {
            let outcome: PairingAgent.Outcome =
                bluetoothd == .here ? .failed(.unreachable("there is no \(bus.address)")) : .notNeeded
            state.withLock { $0.agentOutcome = outcome }
            return ready()
        }
        let agent = PairingAgent(
            for: peer,
            on: adapter,
            as: interview.capability,
            loop: loop,
            timeline: timeline
        ) { [weak self] meaning in
            self?.bluetoothdAsked(meaning)
        }
        let turn = AgentTurn(on: bus, loop: loop, timeline: timeline)
        let mayBegin = state.withLock { state in
            if !state.isOver { (state.agent, state.turn) = (agent, turn) }
            return !state.isOver
        }
        guard mayBegin else { return }
        turn.take { [self] in
            agent.begin(over: bus) { [self] outcome in
                state.withLock { state in
                    state.agentOutcome = outcome
                    if outcome == .ready { state.consent.agentBegan() }
                }
                if outcome != .ready { releaseTurn() }
                ready()
            }
        }
    }

    /// Lets another pairing register its agent.
    private func releaseTurn() { state.withLock { $0.turn.take() }?.release() }

    /// Uses an existing agent to answer bluetoothd; the agent's owner passes on bluetoothd's questions. The agent does
    /// not end with the dialogue.
    func begin(with agent: PairingAgent?, outcome: PairingAgent.Outcome) {
        state.withLock { state in
            (state.agent, state.agentOutcome) = (agent, outcome)
            if outcome == .ready { state.consent.agentBegan() }
        }
    }

    /// Takes an event of the kernel, on the loop's thread.
    func received(_ event: ManagementEvent) {
        switch event {
        case .userConfirmationRequest(let request) where request.address.lowEnergy == peer:
            let question = request.value.map { PairingQuestion.comparison($0) }
            take { $0.kernelAsked(question) }
        case .userPasskeyRequest(let address) where address.lowEnergy == peer:
            take { $0.kernelAsked(.passkey) }
        case .passkeyNotify(let notice) where notice.address.lowEnergy == peer:
            take { $0.kernelShows(.display(notice.passkey, typed: Int(notice.entered))) }
        default: break
        }
    }

    /// Whether an event belongs to a later pairing: in each, the kernel asks one question, or shows one passkey.
    func isOver(by event: ManagementEvent) -> Bool {
        let consent = state.withLock { $0.consent }
        switch event {
        case .userConfirmationRequest, .userPasskeyRequest: return consent.wasAsked || consent.question != nil
        case .passkeyNotify(let notice):
            guard case .display(let shown, _)? = consent.question else { return consent.wasAsked }
            return shown != notice.passkey
        default: return false
        }
    }

    /// Takes the end of the link, on the loop's thread.
    ///
    /// The Security Manager drops a link after a step that took too long: this device's, if the program was asked
    /// nearly that long ago and has not answered. A program that was stopped meanwhile learns of that, of its own
    /// timer's end and of a late answer at once, in any order. An end among events that were lost has no reason: it may
    /// be that one.
    func linkEnded(_ reason: ManagementDisconnectReason) {
        guard reason == .localHost || reason == .unspecified else { return }
        let now = timeline.now
        state.withLock { state in
            guard let asked = state.asked, state.consent.answer == nil else { return }
            if now - asked >= Self.stepLimit - Self.questionsWay { state.consent.expired() }
        }
    }

    /// Withdraws its questions; no answer counts any more.
    func withdraw() {
        let patience = state.withLock { state in
            defer { (state.isOver, state.patience) = (true, nil) }
            return state.patience
        }
        patience?.cancel()
        releaseTurn()
    }

    /// Withdraws its questions and the agent.
    ///
    /// - Parameter device: the device that bluetoothd must forget.
    func end(forgetting device: BluetoothAddress? = nil) {
        withdraw()
        let agent = state.withLock { state in
            defer { state.agent = nil }
            return state.agent
        }
        if role == .initiator { agent?.end(forgetting: device) }
    }

    /// Refuses if the kernel waits for an answer. Returns whether it does.
    func refuse() -> Bool {
        let isAwaited = state.withLock { $0.consent.wasAsked && !$0.consent.hasAnswered && !$0.consent.hasAgentAgreed }
        if isAwaited { tellKernel(.refuse(.refused)) }
        return isAwaited
    }

    /// The error for a pairing that failed according to the kernel; `nil` if nothing here explains it.
    ///
    /// - Parameter status: the kernel's status.
    func failure(_ status: ManagementStatus?) -> BLEError? {
        let (consent, agent, hasLeft) = state.withLock { ($0.consent, $0.agentOutcome, $0.hasBluetoothdLeft) }
        if case .refuse(let reason) = consent.answer {
            return role == .initiator ? .pairingFailed(with: peer, reason) : .pairingFailed(by: peer, reason)
        }
        guard status == .authenticationFailed else { return nil }
        return .pairingRefused(
            by: peer,
            as: role,
            consent: consent,
            agent: agent,
            bluetoothd: hasLeft ? .absent : bluetoothd,
            isBonded: (try? KernelKeyList.current(of: adapter))?.hasKeys(of: peer)
        )
    }
}

// MARK: - On the loop's thread

extension PairingDialogue {
    func bluetoothdAsked(_ meaning: AgentQuestions.Meaning) {
        if meaning != .refused { releaseTurn() }
        switch meaning {
        case .asked(_, let isConsent): take { $0.agentAsked(isConsent: isConsent) }
        case .released:
            state.withLock { $0.hasBluetoothdLeft = true }
            take { $0.agentEnded() }
        case .withdrawn: take { $0.agentEnded() }
        case .refused, .none: break
        }
    }

    /// Carries out the steps that follow from an event.
    private func take(_ next: (inout PairingConsent) -> [PairingConsent.Step]) {
        let steps = state.withLock { $0.isOver ? [] : next(&$0.consent) }
        for step in steps { carryOut(step) }
    }

    private func carryOut(_ step: PairingConsent.Step) {
        switch step {
        case .ask(let question):
            let asked = timeline.now
            state.withLock { $0.asked = asked }
            interview.ask(question) { [weak self, loop, timeline] answer in
                let isLate = question.needsAnswer && timeline.now - asked >= Self.stepLimit
                let answer = isLate ? .refuse(.unanswered) : answer
                loop.enqueue { [weak self] in self?.take { $0.answered(answer) } }
            }
        case .wait:
            let patience = timeline.schedule(after: Self.patience) { [weak self, loop] in
                loop.enqueue { [weak self] in self?.take { $0.patienceEnded() } }
            }
            state.withLock { $0.patience = patience }
        case .tellKernel(let answer): tellKernel(answer)
        case .tellAgent(let answer): state.withLock { $0.agent }?.answer(answer, about: peer)
        case .giveUp: giveUp()
        }
    }

    /// A refusal ends a pairing though the kernel has asked nothing, and the link stays. Source: kernel,
    /// `net/bluetooth/smp.c`, `smp_user_confirm_reply`.
    private func giveUp() {
        guard role == .initiator else { return tellKernel(.refuse(.refused)) }
        management.submit(ManagementCancelPairDevice(ManagementAddress(peer))) { [self] answer in
            // The kernel can't cancel a pairing for better keys, nor one while another program's comes first.
            if answer.failure?.status == .invalidParameters { tellKernel(.refuse(.refused)) }
        }
    }

    private func tellKernel(_ answer: PairingQuestion.Answer) {
        let address = ManagementAddress(peer)
        switch (state.withLock { $0.consent.question }, answer) {
        case (.passkey, .passkey(let passkey)):
            management.submit(ManagementUserPasskeyReply(address, passkey: passkey)) { _ in }
        case (.passkey, _): management.submit(ManagementUserPasskeyNegativeReply(address)) { _ in }
        case (_, .accept): management.submit(ManagementUserConfirmationReply(address)) { _ in }
        default: management.submit(ManagementUserConfirmationNegativeReply(address)) { _ in }
        }
    }
}

extension ManagementIOCapability {
    init(_ capability: PairingCapability) {
        self =
            switch capability {
            case .displayOnly: .displayOnly
            case .displayYesNo: .displayYesNo
            case .keyboardOnly: .keyboardOnly
            case .noInputNoOutput: .noInputNoOutput
            case .keyboardDisplay: .keyboardDisplay
            }
    }
}
