internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The resources that a pairing begun by this machine holds while it lasts: the kernel's events, the adapter's
/// settings, and the dialogue with the program and bluetoothd.
final class PairingEngagement: Sendable {
    private struct State {
        var observation: RadioActivity?
        var holdsSettings = false
        var isWithdrawn = false
        /// Takes back that this program pairs with the peer, and that what fails is its own.
        var disengage: (@Sendable () -> Void)?
        var disown: (@Sendable () -> Void)?
    }

    let dialogue: PairingDialogue
    private let peer: BluetoothAddress
    private let interview: PairingInterview
    private let surroundings: PairingSurroundings
    private let state = Mutex(State())

    init(with peer: BluetoothAddress, in surroundings: PairingSurroundings, asking interview: PairingInterview) {
        self.surroundings = surroundings
        self.peer = peer
        self.interview = interview
        dialogue = PairingDialogue(
            with: peer,
            on: surroundings.adapter,
            asking: interview,
            management: surroundings.management,
            bus: surroundings.bus,
            bluetoothd: surroundings.bluetoothd,
            loop: surroundings.loop,
            timeline: surroundings.timeline
        )
    }

    /// Starts, on the loop's thread.
    ///
    /// - Parameters:
    ///   - received: called with each of the kernel's events until the end, even after a withdrawal.
    ///   - lost: called when some of them were lost, until the end.
    ///   - ready: called when the adapter is set and bluetoothd told, or with the kernel's refusal; not after a
    ///     withdrawal.
    func begin(
        received: @escaping @Sendable (ManagementEvent) -> Void,
        lost: @escaping @Sendable () -> Void = {},
        ready: @escaping @Sendable (ManagementFailure?) -> Void
    ) {
        let observation = surroundings.management.observe { [dialogue] events in
            for event in events {
                dialogue.received(event.event)
                received(event.event)
            }
        } lost: { _ in
            lost()
        }
        let (disengage, disown) = (surroundings.unasked?.engage(peer), surroundings.security?.engage(peer))
        let mayBegin = state.withLock { state in
            if !state.isWithdrawn {
                (state.observation, state.disengage, state.disown) = (observation, disengage, disown)
            }
            return !state.isWithdrawn
        }
        guard mayBegin else {
            disengage?()
            disown?()
            return observation.cancel()
        }
        surroundings.settings.hold { [self] failure in
            guard !isWithdrawn else { return }
            if let failure { return ready(failure) }
            dialogue.begin { [self] in
                guard !isWithdrawn else { return }
                takeOver { [self] in if !isWithdrawn { ready(nil) } }
            }
        }
        let isHeldInVain = state.withLock { state in
            state.holdsSettings = !state.isWithdrawn
            return state.isWithdrawn
        }
        if isHeldInVain { surroundings.settings.release() }
    }

    /// Takes over what the kernel pairs with the peer by itself, at the peer's request: until that is over, the kernel
    /// begins nothing else, and it doesn't repeat the question that it asked before this pairing.
    ///
    /// Consent is given where the program wants no more than that. Anything else is ended, so that the kernel begins
    /// anew with the program's capability, and a person has the whole time for an answer. What may be over already is
    /// refused, too: if it is over, that does nothing.
    private func takeOver(_ next: @escaping @Sendable () -> Void) {
        // bluetoothd has its agents answer.
        guard dialogue.isAlone, let question = surroundings.unasked?.takeQuestion(of: peer) else { return next() }
        let isJustWorks = interview.capability == .noInputNoOutput && interview.outOfBand == nil
        if case .userConfirmationRequest(let request) = question.event, request.value == nil, isJustWorks,
            question.peer == peer, !question.mayBeOver
        {
            dialogue.received(question.event)
            return next()
        }
        // The kernel tells of the failure before it answers this.
        let refusal = ManagementUserConfirmationNegativeReply(ManagementAddress(question.peer))
        surroundings.management.submit(refusal) { _ in next() }
    }

    private var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Whether bluetoothd runs now: one that has begun during the pairing is asked, and told the keys, too.
    ///
    /// - Parameter found: called once, on the loop's thread.
    func findBluetoothd(_ found: @escaping @Sendable (_ isThere: Bool) -> Void) {
        if dialogue.isBesideBluetoothd { return found(true) }
        let bus = surroundings.bus
        guard bus.isThere else { return found(false) }
        Bluetoothd.findOnBus(bus, loop: surroundings.loop, timeline: surroundings.timeline) { found($0 == .here) }
    }

    /// Attributes a failure to a bluetoothd that has come during the pairing, if one may be its cause: it knows no
    /// agent, and refuses at once.
    ///
    /// - Parameters:
    ///   - error: what it is without such a one.
    ///   - status: the kernel's status.
    ///   - attributed: called once, on the loop's thread.
    func attribute(
        _ error: BLEError,
        _ status: ManagementStatus?,
        _ attributed: @escaping @Sendable (BLEError) -> Void
    ) {
        guard status == .authenticationFailed, dialogue.isUnrefused, !dialogue.isBesideBluetoothd else {
            return attributed(error)
        }
        findBluetoothd { [peer] in attributed($0 ? .refusedByNewBluetoothd(peer) : error) }
    }

    /// Asks no more questions, and restores the settings; the events still come.
    func withdraw() {
        let holdsSettings = state.withLock { state in
            defer { (state.holdsSettings, state.isWithdrawn) = (false, true) }
            return state.holdsSettings
        }
        dialogue.withdraw()
        if holdsSettings { surroundings.settings.release() }
    }

    /// Releases everything.
    ///
    /// - Parameter device: the device that bluetoothd must forget.
    func end(forgetting device: BluetoothAddress? = nil) {
        withdraw()
        let (observation, disengage, disown) = state.withLock { state in
            defer { (state.observation, state.disengage, state.disown) = (nil, nil, nil) }
            return (state.observation, state.disengage, state.disown)
        }
        observation?.cancel()
        disengage?()
        // The kernel tells all programs of the failure of a pairing that one of them has given up, that one too: it has
        // told it by now.
        if let disown { surroundings.management.whenRead { disown() } }
        dialogue.end(forgetting: device)
    }
}
