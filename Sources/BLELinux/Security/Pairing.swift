internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One pairing with a connected peer, from the check that the adapter may pair to the keys or the error.
///
/// A ``PairingDialogue`` passes the kernel's questions to the program. The kernel asks for consent even if the adapter
/// claims neither input nor output, and treats silence as a refusal.
final class Pairing: Sendable {
    typealias Outcome = Result<Bond?, BLEError>

    struct State {
        var keys: GatheredKeys
        var isUnderWay = false
        /// Whether the kernel's answer to the command is to come.
        var isAwaited = false
        /// The command, once it is submitted.
        var command: ManagementClient.RequestID?
        var isOver = false
        /// Whether events were lost since the command was sent: keys, questions and the answer may be among them.
        var hasMissedEvents = false
        /// Whether some of these came behind a key of the peer's.
        var hasMissedBehindKey = false
        /// Whether what has come behind a loss is being read.
        var isReadingOn = false
        /// Whether a key of the peer's was reported, be it one for this link only.
        var hasHeardKey = false
        /// The peer as the kernel names it once it has paired; `nil` before.
        var made: BluetoothAddress?
        /// Whether this program has it ended for lost events, and whether the kernel has yet to answer that.
        var isEnding = false
        var isEndAwaited = false
        /// Whether the pairing is ended by a refusal of its question, asked or not.
        var isRefusing = false
        /// Waits for the end after a loss of events, which may have been among them.
        var deadline: RadioActivity?
        /// Why the link has ended, which the kernel reports before the pairing's end.
        var linkEnd: ManagementDisconnectReason?
        /// The note of the out-of-band data that the kernel has.
        var dataNote: LeftoverNote?
        /// Waits until bluetoothd has inspected the bond, or for what the kernel reports after a failure.
        var pause: RadioActivity?
    }

    let peer: BluetoothAddress
    let surroundings: PairingSurroundings
    let interview: PairingInterview
    let engagement: PairingEngagement
    private let failure: @Sendable (ManagementFailure) -> BLEError
    private let sink: EventSink<Outcome>
    let state: Mutex<State>

    var management: ManagementSocket { surroundings.management }

    /// - Parameter failure: the error for a command that the kernel has refused.
    init(
        with peer: BluetoothAddress,
        in surroundings: PairingSurroundings,
        asking interview: PairingInterview,
        failure: @escaping @Sendable (ManagementFailure) -> BLEError,
        sink: EventSink<Outcome>
    ) {
        self.peer = peer
        self.surroundings = surroundings
        self.interview = interview
        self.failure = failure
        self.sink = sink
        engagement = PairingEngagement(with: peer, in: surroundings, asking: interview)
        state = Mutex(State(keys: GatheredKeys(of: peer)))
    }

    /// Starts, on the loop's thread.
    func begin() {
        engagement.begin { [weak self] event in
            self?.received(event)
        } lost: { [weak self] in
            self?.missedEvents()
        } ready: { [self] failure in
            if let failure { fail(failure) } else { pair() }
        }
    }

    /// Ends the pairing; the kernel is told before this returns, and removes the keys that were made.
    ///
    /// It may already have made keys that it has not reported yet: its reports before the answer are still processed.
    func cancel() {
        sink.close()
        let (isFirst, isUnderWay) = end()
        guard isFirst else { return }
        engagement.withdraw()
        guard isUnderWay else { return forgetKeys() }
        // A command that waits its turn, which may take long, would begin a pairing that nobody knows of.
        if let command = state.withLock({ $0.command }), management.withdraw(command) { return forgetKeys() }
        endInKernel { [self] _ in forgetKeys() }
    }

    /// Has the kernel end it.
    ///
    /// The kernel cancels only one pairing of all programs: the oldest, or before 2022 the newest. A refusal of its
    /// question ends any, asked or not. Source: kernel, `net/bluetooth/mgmt.c`, `cancel_pair_device`, `mgmt_util.c`,
    /// `mgmt_pending_add`, and `smp.c`, `smp_user_confirm_reply`.
    ///
    /// - Parameter answered: called with whether the kernel has refused: as far as it says, it pairs no more.
    func endInKernel(_ answered: @escaping @Sendable (_ isRefused: Bool) -> Void) {
        let address = ManagementAddress(peer)
        management.submit(ManagementCancelPairDevice(address)) { [self] answer in
            let mayBeBehind = state.withLock { state in
                // The answer to a pairing follows its keys immediately: if a key was heard, the answer was lost.
                guard answer.failure?.status == .invalidParameters, state.isAwaited, !state.hasHeardKey else {
                    return false
                }
                state.isRefusing = true
                return true
            }
            guard mayBeBehind else { return answered(answer.failure != nil) }
            management.submit(ManagementUserConfirmationNegativeReply(address)) { answered($0.failure != nil) }
        }
    }

    private func pair() {
        let (mayBegin, end) = state.withLock { state in
            state.isUnderWay = !state.isOver && state.linkEnd == nil
            return (!state.isOver, state.linkEnd)
        }
        guard mayBegin else { return }
        // The kernel would connect to the peer by itself, and nobody would have that link.
        if end != nil { return fail(.status(.disconnected, ManagementPairDevice.opcode)) }
        guard let data = interview.outOfBand else { return pairDevice() }
        let note = surroundings.noteOutOfBandData()
        state.withLock { $0.dataNote = note }
        // The kernel finds the data when the pairing begins, by the address of the link.
        management.submit(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), data: data)) { [self] answer in
            if case .failure(let failure) = answer { return fail(failure) }
            pairDevice()
        }
    }

    private func pairDevice() {
        let command = ManagementPairDevice(ManagementAddress(peer), capability: .init(interview.capability))
        state.withLock { state in
            guard !state.isOver else { return }
            state.isAwaited = true
            // Under the lock: whoever gives the pairing up then finds the command, which may have to wait its turn.
            state.command = management.submit(command) { [self] in answered($0) }
        }
    }

    private func answered(_ answer: Result<ManagementPairDevice.Response, ManagementFailure>) {
        let (isOver, isEnded, lacksKeys) = state.withLock { state in
            (state.isUnderWay, state.isAwaited) = (false, false)
            if case .success(let response) = answer { state.made = response.address.lowEnergy ?? peer }
            let status = answer.failure?.status
            let isEnded = status == .cancelled || state.isRefusing && status == .authenticationFailed
            return (state.isOver, state.isEnding && isEnded, state.lacksKeys)
        }
        guard !isOver else { return }
        switch answer {
        case .success where lacksKeys: forgetUnseenKeys()
        case .success: outlastBluetoothd(.success(bond))
        case .failure(let failure) where failure.status == .alreadyPaired:
            // What the kernel has paired by itself since this began, at the peer's request, nobody else is told.
            if let bond { outlastBluetoothd(.success(bond)) } else { finish(.success(nil)) }
        case .failure where isEnded:
            finish(.failure(engagement.dialogue.failure(.cancelled) ?? .pairingQuestionLost(with: peer)))
        case .failure(let failure): fail(failure)
        }
    }

    /// Keeps the link up until bluetoothd has tried to inspect the new bond's services, which it can't while the link
    /// is up. Otherwise it would connect by itself, and occupy the peer from then on.
    func outlastBluetoothd(_ outcome: Outcome) {
        engagement.findBluetoothd { [self] isThere in
            if isThere { wait(Self.bluetoothdLooks) { [self] in finish(outcome) } } else { finish(outcome) }
        }
    }

    private func wait(_ duration: Duration, _ body: @escaping @Sendable () -> Void) {
        let pause = surroundings.timeline.schedule(after: duration) { [loop = surroundings.loop] in
            loop.enqueue(body)
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.pause = pause }
            return state.isOver
        }
        if isOver { pause.cancel() }
    }

    /// bluetoothd inspects a bond two seconds after it was made, with a timer of whole seconds. Source: BlueZ,
    /// `src/device.c`, `DISCOVERY_TIMER`.
    private static let bluetoothdLooks = Duration.milliseconds(3500)

    /// The bond from the peer's keys, which come before the answer to the command.
    var bond: Bond? {
        let keys = state.withLock { $0.keys }
        guard let adapter = surroundings.facts()?.address, let bond = keys.bond(of: adapter) else { return nil }
        surroundings.keys.note(bond.peer)
        return bond
    }

    private func received(_ event: ManagementEvent) {
        let linkEnd: ManagementDisconnectReason? = state.withLock { state in
            guard case .deviceDisconnected(let address, let reason) = event else {
                if state.keys.take(event) { state.hasHeardKey = true }
                return nil
            }
            guard let address = address.lowEnergy, state.keys.isOwn(address) else { return nil }
            state.linkEnd = reason
            return reason
        }
        if let linkEnd { engagement.dialogue.linkEnded(linkEnd) }
    }

    /// An adapter that is switched off ends its links and pairings before the kernel reports that it is off: if that
    /// may be the cause, the error comes when it is known.
    private func fail(_ failure: ManagementFailure) {
        let linkEnd = state.withLock { $0.linkEnd }
        let isVague = failure.status.map { [.failed, .disconnected, .notConnected].contains($0) } ?? false
        guard linkEnd == .localHost || linkEnd == nil && isVague else { return explain(failure) }
        wait(Self.powerReport) { [self] in explain(failure) }
    }

    /// How long the kernel may take from the end of the links to the report that the adapter is off.
    static let powerReport = Duration.milliseconds(300)

    private func explain(_ failure: ManagementFailure) {
        guard surroundings.facts()?.isUp == true else {
            return finish(.failure(self.failure(.status(.notPowered, ManagementPairDevice.opcode))))
        }
        let (linkEnd, hasBegun) = state.withLock { ($0.linkEnd, $0.command != nil) }
        // No question was asked: the data didn't match.
        let isWrong = interview.outOfBand != nil && failure.status == .authenticationFailed
        let explained: BLEError? =
            isWrong
            ? .pairingFailed(with: peer, .wrongOutOfBandData)
            : engagement.dialogue.failure(failure.status)
                ?? linkEnd.map { .pairingBroken(with: peer, $0, hasBegun: hasBegun) }
        let error = explained ?? self.failure(failure)
        engagement.attribute(error, failure.status) { [self] in finish(.failure($0)) }
    }

    func finish(_ outcome: Outcome) {
        guard end().isFirst else { return }
        engagement.end()
        forgetOutOfBandData()
        sink.finish(outcome)
    }

    /// Ends it. Returns whether this was the first end, and whether the kernel was pairing.
    private func end() -> (isFirst: Bool, isUnderWay: Bool) {
        let (isFirst, isUnderWay, timers) = state.withLock { state in
            defer { (state.isOver, state.pause, state.deadline) = (true, nil, nil) }
            return (!state.isOver, state.isUnderWay, [state.pause, state.deadline])
        }
        for timer in timers { timer?.cancel() }
        return (isFirst, isUnderWay)
    }

    /// Removes the keys: otherwise the adapter would have a bond that no program knows.
    private func forgetKeys() {
        let identity: BluetoothAddress? = state.withLock { state in
            if !state.keys.isEmpty { return state.keys.identity }
            return state.lacksKeys ? state.made : nil
        }
        engagement.end(forgetting: identity)
        if let identity {
            surroundings.keys.remove(identity)
            management.submit(ManagementUnpairDevice(ManagementAddress(identity), disconnects: false)) { _ in }
        }
        forgetOutOfBandData()
    }

    private func forgetOutOfBandData() {
        guard interview.outOfBand != nil else { return }
        let note = state.withLock { $0.dataNote.take() }
        management.submit(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), data: nil)) { answer in
            note?.forget(unless: answer.failure)
        }
    }
}
