internal import BLEProtocol
internal import BLERadio
internal import Synchronization

// The centrals that came before the reception, and those that have come or left among events that were lost; all of it
// on the loop's thread.
extension PairingReceiver {
    /// Some of the kernel's events were lost: asks it who is connected, once at a time.
    ///
    /// A central that came unseen would not be answered when it pairs, and the bond that the kernel makes without a
    /// question would not be told. One that left unseen would leave its questions open.
    ///
    /// Whether a pairing is under way or has ended can't be asked. The kernel's next question to the same central shows
    /// the end of the former pairing; one whose question is not known is ended: ``endUnasked(_:)``.
    func missedEvents() {
        state.withLock { state in
            for (central, caller) in state.callers where caller.dialogue != nil {
                state.callers[central]?.mayHaveEnded = true
            }
        }
        look { [self] connected in
            compare(with: connected)
            for peer in connected { endUnasked(peer) }
        }
    }

    /// Finds the centrals that are connected already: a server whose advertising was taken away keeps its links, and
    /// receives pairings anew. What they pair from now on is answered and told.
    func findPresent() {
        if surroundings.centrals().isEmpty { return }
        look { [self] in compare(with: $0) }
    }

    /// Asks the kernel for the peers of all links, in either role, unless it is being asked.
    private func look(_ found: @escaping @Sendable ([BluetoothAddress]) -> Void) {
        guard state.withLock({ !$0.isOver && $0.looking.begin() }) else { return }
        surroundings.management.submit(ManagementGetConnections()) { [self] answer in
            if state.withLock({ $0.looking.end() }) { return missedEvents() }
            if case .success(let connections) = answer { found(connections.addresses.compactMap(\.lowEnergy)) }
        }
    }

    /// The central pairs again, and the end of its pairing was among the lost events.
    func endedUnseen(_ central: BluetoothAddress) {
        if endsWithOneKey(central) { return }
        let dialogue = state.withLock { $0.callers[central]?.dialogue }
        guard end(central) else { return }
        doubtKeys(of: central, after: dialogue)
        sink.send(.failed(central, dialogue?.failure(nil) ?? .pairingEndedUnseen(by: central)))
    }

    /// - Parameter connected: the peers of all links, in either role.
    private func compare(with connected: [BluetoothAddress]) {
        let gone = state.withLock { state in
            state.callers.filter { caller in !connected.contains { caller.value.keys.isOwn($0) } }.map(\.key)
        }
        for central in gone { left(central, .unspecified) }
        // The kernel lists these without the kinds of their addresses.
        let centrals = Set(surroundings.centrals().map(\.rawValue))
        state.withLock { state in
            guard !state.isOver else { return }
            for peer in connected where centrals.contains(peer.rawValue) {
                guard !state.callers.values.contains(where: { $0.keys.isOwn(peer) }) else { continue }
                state.callers[peer] = Caller(keys: GatheredKeys(of: peer))
            }
        }
    }

    /// The question of a central's pairing may be among the lost events: nobody would answer it, and the Security
    /// Manager's limit would end the link after 30 s of silence. So a pairing without a known question is ended at
    /// once, and the central can pair again. What came behind the lost events is known by now.
    ///
    /// The kernel takes a refusal in each phase of a pairing. Without a pairing it answers that there is none, and does
    /// nothing. Source: kernel, `net/bluetooth/smp.c`, `smp_user_confirm_reply`.
    ///
    /// - Parameter peer: the kernel's present address for a peer of a link, in either role.
    private func endUnasked(_ peer: BluetoothAddress) {
        let central = state.withLock { state -> BluetoothAddress? in
            // bluetoothd, which has a socket of its own, asks this program whether to pair. A passkey or a number comes
            // from the kernel alone.
            let isConsent = reception.capability == .noInputNoOutput
            guard !state.isOver, state.agentOutcome != .ready || !isConsent else { return nil }
            // The kernel tells keys once a pairing is over.
            guard let (central, caller) = state.callers.first(where: { $0.value.keys.isOwn(peer) }),
                caller.dialogue?.wasAsked != true, caller.keys.isEmpty, !caller.isEnding, !asksNothing(caller.keys)
            else { return nil }
            state.callers[central]?.isEnding = true
            return central
        }
        guard let central else { return }
        let refusal = ManagementUserConfirmationNegativeReply(ManagementAddress(peer))
        surroundings.management.submit(refusal) { [self] _ in
            // The report of a pairing's end comes before the answer.
            state.withLock { $0.callers[central]?.isEnding = false }
        }
    }

    /// Whether the kernel asks nothing in a pairing with this central: it has out-of-band data.
    private func asksNothing(_ keys: GatheredKeys) -> Bool {
        reception.outOfBand?.address.map { keys.isOwn($0) } ?? false
    }
}
