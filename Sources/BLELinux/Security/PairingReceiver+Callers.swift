internal import BLEProtocol
internal import BLERadio
internal import Synchronization

// The handling of the centrals; all of it on the loop's thread.
extension PairingReceiver {
    /// How long the second key of a legacy pairing may take after the first: the kernel reports both at once.
    static let patience = Duration.milliseconds(200)

    func received(_ event: ManagementEvent) {
        switch event {
        case .deviceConnected(let connected) where !surroundings.hasMade(connected):
            guard let central = connected.address.lowEnergy else { return }
            // If there was a link before, its end was missed.
            left(central, .unspecified)
            state.withLock { if !$0.isOver { $0.callers[central] = Caller(keys: GatheredKeys(of: central)) } }
        case .deviceDisconnected(let address, let reason):
            if let central = caller(address.lowEnergy) { left(central, reason) }
        case .userConfirmationRequest(let request): ask(event, request.address)
        case .userPasskeyRequest(let address): ask(event, address)
        case .passkeyNotify(let notice): ask(event, notice.address)
        case .newIdentityResolvingKey, .newLongTermKey: gather(event)
        case .authenticationFailed(let address, let status):
            if let central = caller(address.lowEnergy) { failed(central, status) }
        default: break
        }
    }

    /// The link address of a connected central, from any of its addresses.
    private func caller(_ address: BluetoothAddress?) -> BluetoothAddress? {
        guard let address else { return nil }
        return state.withLock { $0.callers.first { $0.value.keys.isOwn(address) }?.key }
    }

    private func ask(_ event: ManagementEvent, _ address: ManagementAddress) {
        guard let address = address.lowEnergy, let central = caller(address) else { return }
        let former = state.withLock { $0.callers[central] }
        if former?.mayHaveEnded == true, former?.dialogue?.isOver(by: event) == true { endedUnseen(central) }
        dialogue(with: central, as: address)?.received(event)
    }

    /// The dialogue with a central, made if there is none yet.
    ///
    /// - Parameter address: the kernel's address for it: its identity, from shortly after it has sent that.
    private func dialogue(with central: BluetoothAddress, as address: BluetoothAddress) -> PairingDialogue? {
        let (known, agent, outcome, hasChanged) = state.withLock { state in
            (state.callers[central]?.dialogue, state.agent, state.agentOutcome, state.hasBluetoothdChanged)
        }
        if let known { return known }
        // Any device that claims the address can pair with Just Works.
        let isWeaker = surroundings.keys.isAuthenticated(address)
        let interview = reception.interview?(central)
        let consent: PairingQuestion.Answer =
            interview == nil ? .refuse(.refused) : isWeaker ? .refuse(.wouldWeakenBond) : .accept
        let dialogue = PairingDialogue(
            with: address,
            as: .responder(consent: consent),
            on: surroundings.adapter,
            asking: interview ?? PairingInterview(.noInputNoOutput) { _, reply in reply(.refuse(.refused)) },
            management: surroundings.management,
            bus: surroundings.bus,
            bluetoothd: hasChanged ? .unknown : surroundings.bluetoothd,
            loop: surroundings.loop,
            timeline: surroundings.timeline
        )
        dialogue.begin(with: agent, outcome: outcome)
        let isOver = state.withLock { state in
            state.callers[central]?.dialogue = dialogue
            return state.isOver
        }
        return isOver ? nil : dialogue
    }

    /// bluetoothd asks its agent, or withdraws a question.
    func bluetoothdAsked(_ meaning: AgentQuestions.Meaning) {
        switch meaning {
        case .asked(let octets, _):
            let found = state.withLock { state in
                state.callers.first { $0.key.rawValue == octets || $0.value.keys.identity.rawValue == octets }
            }
            // bluetoothd's question may be read before the kernel's, which is about the identity once that is told.
            guard let (central, caller) = found, let dialogue = dialogue(with: central, as: caller.keys.identity) else {
                state.withLock { $0.agent }?.answer(.refuse(.refused), aboutOctets: octets)
                return
            }
            dialogue.bluetoothdAsked(meaning)
        case .withdrawn, .released:
            for dialogue in state.withLock({ $0.callers.values.compactMap(\.dialogue) }) {
                dialogue.bluetoothdAsked(meaning)
            }
            if meaning == .released {
                state.withLock { ($0.agentOutcome, $0.hasBluetoothdChanged) = (.notNeeded, true) }
            }
        case .refused, .none: break
        }
    }

    // MARK: - The end of a pairing

    private func gather(_ event: ManagementEvent) {
        let (central, isWhole) = state.withLock { state -> (BluetoothAddress?, Bool) in
            for (central, caller) in state.callers {
                var keys = caller.keys
                let hasKey = keys.take(event)
                guard keys != caller.keys || hasKey else { continue }
                state.callers[central]?.keys = keys
                // A key for this link only is always the only one.
                return (hasKey ? central : nil, keys.isWhole || keys.isEmpty)
            }
            return (nil, false)
        }
        guard let central else { return }
        if isWhole { return paired(central) }
        let patience = surroundings.timeline.schedule(after: Self.patience) { [weak self, loop = surroundings.loop] in
            loop.enqueue { [weak self] in self?.paired(central) }
        }
        state.withLock { $0.callers[central]?.patience = patience }
    }

    /// Whether the first key of a legacy pairing waits for the second one; if so, the pairing has succeeded with one.
    func endsWithOneKey(_ central: BluetoothAddress) -> Bool {
        guard state.withLock({ $0.callers[central]?.keys.isEmpty == false }) else { return false }
        paired(central)
        return true
    }

    private func paired(_ central: BluetoothAddress) {
        let keys = state.withLock { $0.callers[central]?.keys }
        guard let keys, end(central) else { return }
        let bond = surroundings.facts().flatMap { keys.bond(of: $0.address) }
        guard reception.interview != nil else {
            // Some kernels don't ask about Just Works.
            let address = ManagementAddress(keys.identity)
            surroundings.keys.remove(keys.identity)
            surroundings.management.submit(ManagementUnpairDevice(address, disconnects: true)) { _ in }
            return sink.send(.failed(central, .pairingFailed(by: central, .refused)))
        }
        if let bond { surroundings.keys.note(bond.peer) }
        sink.send(.paired(central, bond))
    }

    private func failed(_ central: BluetoothAddress, _ status: ManagementStatus) {
        if endsWithOneKey(central) { return }
        let (dialogue, isEnding) = state.withLock { state in
            (state.callers[central]?.dialogue, state.callers[central]?.isEnding == true)
        }
        guard end(central) else { return }
        doubtKeys(of: central, after: dialogue)
        if isEnding, reception.interview != nil {
            return sink.send(.failed(central, .pairingQuestionLost(by: central)))
        }
        // The kernel refuses by itself if the adapter is not bondable.
        let other: PairingFailure = reception.interview == nil ? .refused : .refusedByCentral
        sink.send(.failed(central, dialogue?.failure(status) ?? .pairingFailed(by: central, other)))
    }

    /// A central's link has ended; without a link to it, this does nothing.
    func left(_ central: BluetoothAddress, _ reason: ManagementDisconnectReason) {
        _ = endsWithOneKey(central)
        let (dialogue, mayHaveEnded) = state.withLock { state in
            (state.callers[central]?.dialogue, state.callers[central]?.mayHaveEnded == true)
        }
        dialogue?.linkEnded(reason)
        if let dialogue, end(central) {
            doubtKeys(of: central, after: dialogue)
            // The Security Manager drops the link when a step has taken too long.
            let other: PairingFailure = reason == .localHost ? .timedOut : .refusedByCentral
            // Without an answer, it can't have succeeded.
            let isUnknown = mayHaveEnded && dialogue.hasAgreed
            let error = isUnknown ? BLEError.pairingLeftUnseen(by: central) : .pairingFailed(by: central, other)
            sink.send(.failed(central, dialogue.failure(nil) ?? error))
        }
        state.withLock { $0.callers[central] = nil }
    }

    /// A pairing has failed. If there is a bond, and this side has not refused, the kernel may have written the new
    /// keys over those of the bond, and has none then. Source: kernel, `net/bluetooth/smp.c`, `sc_add_ltk`,
    /// `smp_chan_destroy`.
    func doubtKeys(of central: BluetoothAddress, after dialogue: PairingDialogue?) {
        let identity = state.withLock { $0.callers[central]?.keys.identity }
        guard let identity, dialogue?.failure(nil) == nil else { return }
        surroundings.keys.remove(identity, isCertain: false)
    }

    /// Ends the pairing with a central. Returns whether the central is still connected.
    func end(_ central: BluetoothAddress) -> Bool {
        let pairing = state.withLock { $0.callers[central]?.takePairing() }
        pairing?.dialogue?.end()
        pairing?.patience?.cancel()
        return pairing != nil
    }
}
