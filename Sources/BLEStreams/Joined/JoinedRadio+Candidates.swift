import BLEProtocol
import BLERadio

/// The adapters that may connect to a peripheral: where it has a bond, those that have its keys.
extension JoinedRadio {
    /// Whether none of them is on.
    func lacksCandidates(for peer: BluetoothAddress) -> Bool {
        choose { chooser, _ in !chooser.hasCandidates(for: peer) }
    }

    /// Calls the closure, once or more often, when one of them is on, until the activity is cancelled.
    func whenCandidateIsOn(for peer: BluetoothAddress, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let look: @Sendable () -> Void = { [weak self] in
            guard let self, !lacksCandidates(for: peer) else { return }
            body()
        }
        let leave = watchMembers(look)
        // Not in this call.
        let first = timeline.schedule(after: .zero, look)
        return RadioActivity {
            first.cancel()
            leave()
        }
    }
}
