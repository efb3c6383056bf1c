internal import BLEProtocol
internal import BLERadio
internal import Synchronization

// The centrals that have come or left among events that were lost; all of it on the loop's thread.
extension PairingReceiver {
    /// Some of the kernel's events were lost: asks it who is connected, once at a time.
    ///
    /// A central that came unseen would not be answered when it pairs, and the bond that the kernel makes without a
    /// question would not be told. One that left unseen would leave its questions open.
    ///
    /// Whether a pairing has ended can't be asked: the kernel's next question to the same central shows it.
    func missedEvents() {
        state.withLock { state in
            for (central, caller) in state.callers where caller.dialogue != nil {
                state.callers[central]?.mayHaveEnded = true
            }
        }
        guard state.withLock({ !$0.isOver && $0.looking.begin() }) else { return }
        surroundings.management.submit(ManagementGetConnections()) { [self] answer in
            if state.withLock({ $0.looking.end() }) { return missedEvents() }
            if case .success(let connections) = answer { compare(with: connections.addresses.compactMap(\.lowEnergy)) }
        }
    }

    /// The central pairs again, and the end of its pairing was among the lost events.
    func endedUnseen(_ central: BluetoothAddress) {
        let dialogue = state.withLock { $0.callers[central]?.dialogue }
        guard end(central) else { return }
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
}
