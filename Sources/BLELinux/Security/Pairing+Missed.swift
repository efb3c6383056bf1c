internal import BLEProtocol
internal import BLERadio
internal import Synchronization

// What may be among events that were lost; all of it on the loop's thread.
extension Pairing {
    /// How long it may take after a loss that can't be of its question: one step of each side.
    private static let steps = PairingDialogue.stepLimit * 2

    /// Some of the kernel's events were lost. What has come behind them is read first: the question may be among that,
    /// and so may the answer.
    func missedEvents() {
        let mustRead = state.withLock { state in
            guard state.isAwaited else { return false }
            // If the pairing's command still waits its turn, nothing of the pairing is lost.
            if let command = state.command, management.isWaiting(command) { return false }
            state.hasMissedEvents = true
            if state.hasHeardKey { state.hasMissedBehindKey = true }
            defer { state.isReadingOn = true }
            return !state.isOver && !state.isReadingOn
        }
        guard mustRead else { return }
        management.whenRead { [self] in hasReadOn() }
    }

    /// A lost question would end it only with the Security Manager's limit, and the link with it, so it is ended at
    /// once. If the question is known, or there is none, the pairing goes on as it did.
    ///
    /// Keys come immediately before the answer. If they have come and it has not, the kernel's reply to a cancellation
    /// shows whether it was lost; there is nothing left that could be cancelled.
    private func hasReadOn() {
        // With out-of-band data, the kernel asks nothing.
        let lacksQuestion = interview.outOfBand == nil && !engagement.dialogue.wasAsked
        let mustEnd: Bool? = state.withLock { state in
            state.isReadingOn = false
            return state.isAwaited && !state.isOver ? lacksQuestion || state.hasHeardKey : nil
        }
        guard let mustEnd else { return }
        if mustEnd { return endForLoss() }
        let deadline = surroundings.timeline.schedule(after: Self.steps) { [self] in
            // A program that was stopped reads the events first.
            management.whenRead { [self] in endForLoss() }
        }
        let superfluous = state.withLock { state -> RadioActivity? in
            guard !state.isOver else { return deadline }
            defer { state.deadline = deadline }
            return state.deadline
        }
        superfluous?.cancel()
    }

    /// Has the kernel end it. If the kernel no longer pairs, its answer was lost.
    private func endForLoss() {
        let mayEnd = state.withLock { state in
            guard state.isAwaited, !state.isOver, !state.isEndAwaited else { return false }
            (state.isEnding, state.isEndAwaited) = (true, true)
            return true
        }
        guard mayEnd else { return }
        endInKernel { [self] isRefused in
            let isUnseen = state.withLock { state in
                state.isEndAwaited = false
                // If it was ended, the answer to it has come, or is to come, or the loss of that is told.
                guard state.isAwaited, !state.isOver, isRefused else { return false }
                (state.isUnderWay, state.isAwaited) = (false, false)
                return true
            }
            guard isUnseen else { return }
            if let command = state.withLock({ $0.command }) { management.answerIsLost(command) }
            endUnseen()
        }
    }

    private func endUnseen() {
        let (hasHeardKey, lacksKeys) = state.withLock { ($0.hasHeardKey, $0.lacksKeys) }
        // Keys are reported only if the pairing has succeeded.
        guard hasHeardKey else { return finish(.failure(.pairingEndedUnseen(with: peer))) }
        if lacksKeys { forgetUnseenKeys() } else { outlastBluetoothd(.success(bond)) }
    }

    /// The kernel has made keys whose report was lost, and tells them by no command: without them, there would be a
    /// bond until the program ends, and none afterwards. So they are removed, with the link that they encrypt: on that,
    /// the next request to pair would find nothing to do.
    func forgetUnseenKeys() {
        let made = state.withLock { $0.made ?? $0.keys.identity }
        engagement.end(forgetting: made)
        surroundings.keys.remove(made)
        management.submit(ManagementUnpairDevice(ManagementAddress(made), disconnects: true)) { [self] _ in
            finish(.failure(.pairingKeysLost(with: peer)))
        }
    }
}

extension Pairing.State {
    /// Whether the report of a key may have been lost: none was heard, or one of the two of a legacy pairing. Some
    /// peripherals distribute one key only: nothing is missing in front of the first one, nor behind it without a loss.
    var lacksKeys: Bool {
        guard hasMissedEvents else { return false }
        if keys.isEmpty { return !hasHeardKey }
        return !keys.isWhole && (!keys.hasFirst || hasMissedBehindKey)
    }
}
