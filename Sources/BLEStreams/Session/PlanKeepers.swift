import BLEProtocol
import Synchronization

/// The sessions whose plans a store keeps, for each peripheral: one that stores or withdraws its plan must not take
/// along that of another one that runs.
final class PlanKeepers: Sendable {
    private struct Keeper {
        weak let session: Session?
        let plan: Session.Plan
    }

    private struct State {
        var keepers: [BluetoothAddress: [Keeper]] = [:]
        /// How many addresses there may be before those without a session are removed.
        var limit = 64
    }

    private let state = Mutex(State())

    /// Claims what an earlier run of the program has stored at these addresses of the session's plan.
    func claim(_ addresses: [BluetoothAddress], by session: Session) {
        // Released outside the lock: the programs' closures may be deallocated with them.
        var alive: [Session] = []
        state.withLock { state in for address in addresses { Self.add(session, at: address, to: &state, &alive) } }
        withExtendedLifetime(alive) {}
    }

    /// Stores the plan of a session at this address, beside those of others that run.
    ///
    /// - Parameter alive: gets the sessions that may be released only where no lock is held.
    func store(
        _ record: SessionRecord,
        at address: BluetoothAddress,
        by session: Session,
        in store: PeerStore,
        _ alive: inout [Session]
    ) {
        change(address, by: session, &alive) { state, others, alive in
            Self.add(session, at: address, to: &state, &alive)
            // The session may be ready for months, and has no other occasion.
            store.update(address, isLasting: true) { peer in
                let stored = peer.sessions
                let others = stored.filter { others.contains($0.withoutName) && !$0.isSamePlan(as: record) }
                // In whatever order: of several sessions each is stored on each link, and nothing need be written then.
                if stored.count == others.count + 1, stored.contains(record) { return }
                peer.sessions = [record] + others
            }
        }
    }

    /// Removes what is stored at this address, but for the plans of others that run.
    ///
    /// - Parameters:
    ///   - record: what to remove at most; `nil`: all.
    ///   - alive: gets the sessions that may be released only where no lock is held.
    func withdraw(
        _ record: SessionRecord? = nil,
        from address: BluetoothAddress,
        by session: Session,
        in store: PeerStore,
        _ alive: inout [Session]
    ) {
        change(address, by: session, &alive) { state, others, alive in
            let kept = state.keepers.removeValue(forKey: address) ?? []
            let rest = Self.living(kept, &alive).filter { $0.session !== session }
            if !rest.isEmpty { state.keepers[address] = rest.map(\.keeper) }
            store.update(address, isLasting: true) { peer in
                peer.sessions.removeAll { kept in
                    (record.map(kept.isSamePlan) ?? true) && !others.contains(kept.withoutName)
                }
            }
        }
    }

    /// Calls the closure with the plans of the other sessions that run and have stored or claimed one at this address.
    private func change(
        _ address: BluetoothAddress,
        by session: Session,
        _ alive: inout [Session],
        _ body: (inout State, [SessionRecord], inout [Session]) -> Void
    ) {
        state.withLock { state in
            let others = Self.living(state.keepers[address] ?? [], &alive).filter { entry in
                entry.session !== session && entry.session.orders.isDriven
            }
            body(&state, others.map { SessionRecord($0.keeper.plan, name: nil) }, &alive)
        }
    }

    /// Those that are still there.
    private static func living(
        _ keepers: [Keeper],
        _ alive: inout [Session]
    ) -> [(keeper: Keeper, session: Session)] {
        let living = keepers.compactMap { keeper in keeper.session.map { (keeper: keeper, session: $0) } }
        alive += living.map(\.session)
        return living
    }

    private static func add(
        _ session: Session,
        at address: BluetoothAddress,
        to state: inout State,
        _ alive: inout [Session]
    ) {
        if state.keepers.count >= state.limit {
            state.keepers = state.keepers.filter { !living($0.value, &alive).isEmpty }
            // Not again for each that follows.
            state.limit = max(64, 2 * state.keepers.count)
        }
        let others = living(state.keepers[address] ?? [], &alive).filter { $0.session !== session }
        state.keepers[address] = others.map(\.keeper) + [Keeper(session: session, plan: session.plan)]
    }
}

extension SessionRecord {
    /// What it says of the plan, whatever the peripheral advertised.
    fileprivate var withoutName: SessionRecord {
        var record = self
        record.name = nil
        return record
    }

    fileprivate func isSamePlan(as other: SessionRecord) -> Bool { withoutName == other.withoutName }
}
