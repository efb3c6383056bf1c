internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// A pairing for better keys with a peer whose link is already encrypted.
///
/// The Pair Device command fails if there are keys (Already Paired), and removing them first would leave none if the
/// pairing fails. So the level is requested for the connection, which makes the kernel pair; the old keys stay until
/// there are new ones. The kernel claims the capability that the adapter was set to when the link was made:
/// ``LinuxRadio/expectPairing(with:as:)``. If bluetoothd runs, that is the capability of its agent, or none without an
/// agent: then nothing is asked, and the level is not reached. Source: kernel, `net/bluetooth/smp.c`,
/// `smp_conn_security`.
///
/// Out-of-band data alone reaches no level here: without a capability to ask, the kernel refuses the pairing for an
/// authenticated level, whatever data it has. Source: kernel, `net/bluetooth/smp.c`, `smp_cmd_pairing_rsp`.
final class PairingAnew: Sendable {
    typealias Outcome = Result<Bond?, BLEError>

    private struct State {
        var keys: GatheredKeys
        /// Whether the kernel was asked for the level.
        var hasBegun = false
        /// Whether the kernel is pairing, as far as it has told.
        var isUnderWay = false
        /// Nobody waits for a failure any more; keys must still be kept.
        var isCancelled = false
        var isOver = false
        /// Waits for a second key, if there may be one.
        var patience: RadioActivity?
        /// Waits for the end after a loss of events, which may have been among them; or for what explains its end.
        var deadline: RadioActivity?
        /// Why the link has ended.
        var linkEnd: ManagementDisconnectReason?
    }

    private let peer: BluetoothAddress
    private let surroundings: PairingSurroundings
    private let engagement: PairingEngagement
    /// Whether out-of-band data is all that the program has for it.
    private let hasDataAlone: Bool
    private let failure: @Sendable (ManagementFailure) -> BLEError
    private let sink: EventSink<Outcome>
    private let demand: @Sendable () throws(BLEError) -> Void
    private let state: Mutex<State>

    /// How long after its first key a legacy pairing may take to make the second one.
    private static let secondKey = Duration.seconds(1)

    /// How long it may take after a loss of events or a question: one step of each side. Nothing else ends it if its
    /// end was lost: the link stays, and the kernel can't be asked; nor does the link's level show it, which the kernel
    /// may report as requested after a failure.
    private static let steps = PairingDialogue.stepLimit * 2

    /// - Parameters:
    ///   - failure: the error for a command that the kernel has refused.
    ///   - demand: requests the level for the connection.
    init(
        with peer: BluetoothAddress,
        in surroundings: PairingSurroundings,
        asking interview: PairingInterview,
        failure: @escaping @Sendable (ManagementFailure) -> BLEError,
        sink: EventSink<Outcome>,
        demand: @escaping @Sendable () throws(BLEError) -> Void
    ) {
        self.peer = peer
        self.surroundings = surroundings
        self.failure = failure
        self.sink = sink
        self.demand = demand
        engagement = PairingEngagement(with: peer, in: surroundings, asking: interview)
        hasDataAlone = interview.outOfBand != nil && interview.capability == .noInputNoOutput
        state = Mutex(State(keys: GatheredKeys(of: peer)))
    }

    /// Starts, on the loop's thread.
    func begin() {
        if hasDataAlone { return finish(.failure(.outOfBandDataTooLate(with: peer))) }
        engagement.begin { [weak self] event in
            self?.received(event)
        } lost: { [weak self] in
            self?.missedEvents()
        } ready: { [self] failure in
            if let failure { finish(.failure(self.failure(failure))) } else { pair() }
        }
    }

    /// Ends the pairing, unless there are keys already, or they come before the kernel learns of the end: their result
    /// is still delivered. If there is no question to refuse, the link is ended, and the pairing with it.
    func cancel() {
        let (isUnderWay, hasKeys) = state.withLock { state in
            state.isCancelled = true
            return (state.isUnderWay && !state.isOver, !state.keys.isEmpty)
        }
        if hasKeys { return finishWithKeys() }
        guard isUnderWay, !engagement.dialogue.refuse() else { return finish(.success(nil)) }
        engagement.withdraw()
        surroundings.management.submit(ManagementDisconnect(ManagementAddress(peer))) { [self] _ in
            // As after any failure, which a program that has requested the end may not be told.
            if state.withLock({ $0.keys.isEmpty }) { surroundings.keys.remove(peer, isCertain: false) }
            finish(.success(nil))
        }
    }

    private func pair() {
        let (mayBegin, hasEnded) = state.withLock { state in
            let hasEnded = state.linkEnd != nil
            state.hasBegun = !state.isCancelled && !hasEnded
            state.isUnderWay = state.hasBegun
            return (state.hasBegun, hasEnded && !state.isCancelled)
        }
        // The kernel would connect to the peer, for a socket that is gone, and tell nothing of that.
        if hasEnded { return tellFailure(.disconnected) }
        guard mayBegin else { return }
        do throws(BLEError) {
            try demand()
        } catch {
            finish(.failure(error))
        }
    }

    private func received(_ event: ManagementEvent) {
        let isOwn: (ManagementAddress) -> Bool = { [self] address in
            address.lowEnergy.map { peer in state.withLock { $0.keys.isOwn(peer) } } ?? false
        }
        switch event {
        case .authenticationFailed(let address, let status) where isOwn(address): failed(status)
        case .deviceDisconnected(let address, let reason) where isOwn(address):
            state.withLock { $0.linkEnd = reason }
            engagement.dialogue.linkEnded(reason)
            failed(.disconnected)
        default:
            let (isNew, isWhole) = state.withLock { ($0.keys.take(event), $0.keys.isWhole || $0.keys.isEmpty) }
            guard isNew else { return }
            if isWhole { finishWithKeys() } else { waitForSecondKey() }
        }
    }

    private func missedEvents() {
        if state.withLock({ $0.isUnderWay && $0.keys.isEmpty }) { waitForEnd(Self.steps) }
    }

    private func waitForEnd(_ duration: Duration) {
        let management = surroundings.management
        let deadline = surroundings.timeline.schedule(after: duration) { [self] in
            // A program that was stopped reads the events first.
            management.whenRead { [self] in noEndCame() }
        }
        hold(deadline)
    }

    private func hold(_ deadline: RadioActivity) {
        let superfluous = state.withLock { state -> RadioActivity? in
            guard !state.isOver else { return deadline }
            defer { state.deadline = deadline }
            return state.deadline
        }
        superfluous?.cancel()
    }

    private func noEndCame() {
        guard state.withLock({ $0.isUnderWay && !$0.isOver && $0.keys.isEmpty }) else { return }
        let left = engagement.dialogue.lastQuestion.map { $0 + Self.steps - surroundings.timeline.now } ?? .zero
        if left > .zero { return waitForEnd(left) }
        // As after any failure.
        surroundings.keys.remove(peer, isCertain: false)
        finish(.failure(.pairingEndedUnseen(with: peer)))
    }

    private func waitForSecondKey() {
        let patience = surroundings.timeline.schedule(after: Self.secondKey) { [loop = surroundings.loop] in
            loop.enqueue { self.finishWithKeys() }
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.patience = patience }
            return state.isOver
        }
        if isOver { patience.cancel() }
    }

    private func finishWithKeys() {
        let keys = state.withLock { $0.keys }
        let bond = surroundings.facts().flatMap { keys.bond(of: $0.address) }
        if let bond { surroundings.keys.note(bond.peer) }
        finish(.success(bond))
    }

    private func failed(_ status: ManagementStatus) {
        let (wasUnderWay, hasKeys) = state.withLock { state in
            defer { state.isUnderWay = false }
            return (state.isUnderWay, !state.keys.isEmpty)
        }
        guard wasUnderWay else { return }
        // The first key of two; the second will not come.
        if hasKeys { return finishWithKeys() }
        // The kernel may have written the new keys over the old ones before it failed.
        surroundings.keys.remove(peer, isCertain: false)
        tellFailure(status)
    }

    private func tellFailure(_ status: ManagementStatus) {
        guard state.withLock({ $0.linkEnd == .localHost }) else { return explain(status) }
        // An adapter that is switched off ends its links before the kernel reports that it is off.
        hold(
            surroundings.timeline.schedule(after: Pairing.powerReport) { [loop = surroundings.loop] in
                loop.enqueue { self.explain(status) }
            }
        )
    }

    private func explain(_ status: ManagementStatus) {
        guard surroundings.facts()?.isUp == true else {
            return finish(.failure(failure(.status(.notPowered, ManagementPairDevice.opcode))))
        }
        let dialogue = engagement.dialogue
        let isBluetoothds = status == .authenticationFailed && dialogue.beganBesideBluetoothd && dialogue.wasNobodyAsked
        let (linkEnd, hasBegun) = state.withLock { ($0.linkEnd, $0.hasBegun) }
        let broken = linkEnd.map { BLEError.pairingBroken(with: peer, $0, hasBegun: hasBegun) }
        let explained = isBluetoothds ? BLEError.capabilityIsBluetoothds(peer) : dialogue.failure(status) ?? broken
        let error = explained ?? failure(.status(status, ManagementPairDevice.opcode))
        engagement.attribute(error, status) { [self] in finish(.failure($0)) }
    }

    /// Reports the outcome; after a cancellation, only keys.
    private func finish(_ outcome: Outcome) {
        let (isFirst, isCancelled, timers) = state.withLock { state in
            defer { (state.isOver, state.patience, state.deadline) = (true, nil, nil) }
            return (!state.isOver, state.isCancelled, [state.patience, state.deadline])
        }
        guard isFirst else { return }
        for timer in timers { timer?.cancel() }
        engagement.end()
        if isCancelled, (try? outcome.get()) == nil { return sink.close() }
        sink.finish(outcome)
    }
}
