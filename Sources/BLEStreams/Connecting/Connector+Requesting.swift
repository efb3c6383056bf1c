import BLEProtocol
import BLERadio
import Synchronization

/// Requests links from the radio.
extension Connector {
    /// Requests a link, and announces before that what the program can answer: that holds for one link alone, and one
    /// that is never established is made again. A later link may be of callers who answer nothing.
    func requestLink(to address: BluetoothAddress, _ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        let parameters = entry.wanted(by: entry.first)
        let capability = entry.capability
        state.withLock { state in
            state.entries[number]?.parameters = parameters
            state.entries[number]?.announced = capability
        }
        guard let peers = entry.weaklyBonded else {
            let activity = core.radio.connect(to: address, parameters: parameters) {
                self.connected($0, id, number, core)
            }
            return update(number) { $0.undo = { activity.cancel() } }
        }
        let connecting = Ending<Void>()
        update(number) { $0.undo = { connecting.end() } }
        // A radio may read files to find out whether it can announce that. Requests that announce nothing wait here,
        // too: the one before them may still be announcing something.
        core.store.perform(on: timeline) {
            guard !connecting.hasEnded else { return }
            let announce: @Sendable (PairingCapability) -> Void = { capability in
                for peer in peers { core.radio.expectPairing(with: peer, as: capability) }
            }
            announce(capability ?? .noInputNoOutput)
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

    /// Requests a link anew that the radio is making, if it was told something else than what those who wait can answer
    /// or want by now. Nothing changes what was claimed on a link that is up, and what nobody answers must not be
    /// claimed; and not every radio can change the parameters of such a link.
    func announceAnew(_ number: Int) {
        guard let entry = state.withLock({ $0.entries[number] }), case .connect? = entry.machine.step else { return }
        let isAnnounced = entry.capability == entry.announced || entry.weaklyBonded == nil
        guard !isAnnounced || entry.wanted(by: entry.first) != entry.parameters else { return }
        change(number) { $0.requestAnew(&$1) }
    }
}

extension Connector.Entry {
    /// The first of those who wait.
    fileprivate var first: Connector.Asker? { askers.min { $0.key < $1.key }?.value }

    /// The parameters of a link that this caller is the first to get; `nil`: the radio's default.
    func wanted(by first: Connector.Asker?) -> ConnectionParameters? {
        first?.parameters ?? peripheral.core.preferences[peripheral.address]
    }

    /// What those who wait can answer now; `nil`: nothing. Of several, the first that can answer anything by itself
    /// counts, and then who is asked for all that have no answers of their own.
    fileprivate var capability: PairingCapability? {
        let own = askers.sorted { $0.key < $1.key }.map { $0.value.capability }
        if let first = own.lazy.compactMap({ $0 }).first(where: { $0 != .noInputNoOutput }) { return first }
        guard own.contains(nil) else { return nil }
        let others = peripheral.core.preferences.answers(for: peripheral.address)?.capability
        return others == .noInputNoOutput ? nil : others
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
