import BLEProtocol
import BLERadio

/// The adapters that may connect to a peripheral: where it has a bond, those that have its keys.
extension JoinedRadio {
    /// Whether none of them is on.
    func lacksCandidates(for peer: BluetoothAddress) -> Bool {
        choose { chooser, _ in !chooser.hasCandidates(for: peer) }
    }

    /// Why none of them is on while another adapter is: the bond belongs to those that are off or gone. `nil` if one of
    /// them is on, which may refuse for a reason of its own; if there is no bond; if no adapter is on.
    func bondObstacle(to peer: BluetoothAddress) -> BLEError? {
        let (holders, areOff) = choose { chooser, _ in
            (chooser.holders(of: peer), !chooser.hasCandidates(for: peer))
        }
        guard adapterInfo.state == .poweredOn, !holders.isEmpty, areOff else { return nil }
        return .bondIsElsewhere(peer, holders.sorted().map { name(of: $0) })
    }

    /// The state of the one that is nearest to being on.
    ///
    /// - Parameter peer: the peripheral; `nil` if it isn't known.
    func adapterState(for peer: BluetoothAddress?) -> AdapterInfo.State {
        let holders = peer.map { peer in choose { chooser, _ in chooser.holders(of: peer) } } ?? []
        return AdapterInfo.State.nearest(of: holders.compactMap { info(of: $0)?.state }) ?? adapterInfo.state
    }

    /// Calls the closure once, not in this call, and then after each change of any adapter, until the activity is
    /// cancelled.
    func observeMembers(_ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        let leave = watchMembers(changed)
        let first = timeline.schedule(after: .zero, changed)
        return RadioActivity {
            first.cancel()
            leave()
        }
    }

    /// Calls the closure, once or more often, when one of them is on, until the activity is cancelled.
    func whenCandidateIsOn(for peer: BluetoothAddress, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        observeMembers { [weak self] in
            guard let self, !lacksCandidates(for: peer) else { return }
            body()
        }
    }
}

extension AdapterInfo.State {
    /// Of several, the one that is nearest to being on; `nil` if there is none.
    static func nearest(of states: [AdapterInfo.State]) -> AdapterInfo.State? {
        let order: [AdapterInfo.State] = [
            .poweredOn, .resetting, .unknown, .poweredOff, .blocked, .absent, .unauthorized, .unsupported,
        ]
        return order.first(where: states.contains)
    }
}
