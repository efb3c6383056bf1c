import BLEProtocol
import BLERadio
import Synchronization

/// Requests links from the radio.
extension Connector {
    /// Who answers a pairing's questions on the link that the callers wait for.
    struct Answerers {
        /// What the callers' own answers can do; of several, the first that can do anything.
        private var own = PairingCapability.noInputNoOutput
        /// Whether a caller has none of its own: then those that are set for the peripheral, or the central, count.
        private var areOthersAsked = false

        /// One more caller waits.
        mutating func add(_ answers: PairingAnswers?) {
            if answers == nil { areOthersAsked = true }
            if own == .noInputNoOutput, let answers { own = answers.capability }
        }

        /// What they can do; `nil`: they can answer nothing.
        func capability(beside others: PairingAnswers?) -> PairingCapability? {
            if own != .noInputNoOutput { return own }
            guard areOthersAsked, let capability = others?.capability else { return nil }
            return capability == .noInputNoOutput ? nil : capability
        }
    }

    /// Requests a link, and announces before that what the program can answer: that holds for one link alone, and one
    /// that is never established is made again. A later link may be of callers who answer nothing.
    func requestLink(to address: BluetoothAddress, _ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        let parameters = entry.ownParameters ?? core.preferences[entry.peripheral.address]
        let announced = entry.capability
        state.withLock { state in
            state.entries[number]?.parameters = parameters
            state.entries[number]?.announced = announced
        }
        guard let capability = announced, let peers = entry.weaklyBonded else {
            let activity = core.radio.connect(to: address, parameters: parameters) {
                self.connected($0, id, number, core)
            }
            return update(number) { $0.undo = { activity.cancel() } }
        }
        let connecting = Ending<Void>()
        update(number) { $0.undo = { connecting.end() } }
        // A radio may read files to find out whether it can announce that.
        core.store.perform(on: timeline) {
            guard !connecting.hasEnded else { return }
            let announce: @Sendable (PairingCapability) -> Void = { capability in
                for peer in peers { core.radio.expectPairing(with: peer, as: capability) }
            }
            announce(capability)
            connecting.cancel(
                core.radio.connect(to: address, parameters: parameters) { outcome in
                    announce(.noInputNoOutput)
                    self.connected(outcome, id, number, core)
                }
            )
            connecting.undo { announce(.noInputNoOutput) }
        }
    }

    /// The program has said who answers for a peripheral.
    func announceAnew(for peripheral: Peripheral) {
        if let number = state.withLock({ number(of: peripheral.address, $0) }) { announceAnew(number) }
    }

    /// Requests a link anew that the radio is making, if it was not told what the program can answer by now: nothing
    /// changes that on a link that is up.
    func announceAnew(_ number: Int) {
        guard let entry = state.withLock({ $0.entries[number] }), case .connect? = entry.machine.step,
            let capability = entry.capability, capability != entry.announced, entry.weaklyBonded != nil
        else { return }
        change(number) { $0.requestAnew(&$1) }
    }
}

extension Connector.Entry {
    /// What the program can answer now; `nil`: nothing.
    fileprivate var capability: PairingCapability? {
        answerers.capability(beside: peripheral.core.preferences.answers(for: peripheral.address))
    }

    /// The addresses of the peripheral under which there is a bond whose keys may prove insufficient; `nil`: none.
    fileprivate var weaklyBonded: [BluetoothAddress]? {
        let peers = records.compactMap { address, record -> BluetoothAddress? in
            let bonds = record.bonds(with: address)
            return bonds.isEmpty || bonds.contains(where: \.isAuthenticated) ? nil : address
        }
        return peers.isEmpty ? nil : peers
    }
}
