import BLEProtocol
import BLERadio
import Synchronization

/// Requests links from the radio.
extension Connector {
    /// Requests a link, and announces before that what the program can answer: that holds for one link alone, and one
    /// that is never established is made again.
    func requestLink(to address: BluetoothAddress, _ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        let parameters = entry.ownParameters ?? core.preferences[entry.peripheral.address]
        state.withLock { $0.entries[number]?.parameters = parameters }
        guard let capability = entry.capability, capability != .noInputNoOutput, let peers = entry.weaklyBonded else {
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
            for peer in peers { core.radio.expectPairing(with: peer, as: capability) }
            connecting.cancel(
                core.radio.connect(to: address, parameters: parameters) { self.connected($0, id, number, core) }
            )
        }
    }
}

extension Connector.Entry {
    /// The addresses of the peripheral under which there is a bond whose keys may prove insufficient; `nil`: none.
    fileprivate var weaklyBonded: [BluetoothAddress]? {
        let peers = records.compactMap { address, record -> BluetoothAddress? in
            let bonds = record.bonds(with: address)
            return bonds.isEmpty || bonds.contains(where: \.isAuthenticated) ? nil : address
        }
        return peers.isEmpty ? nil : peers
    }
}
