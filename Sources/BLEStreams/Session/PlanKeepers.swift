import BLEProtocol
import Synchronization

/// The sessions whose plans a store keeps, for each peripheral: one that stores or withdraws its plan must not take
/// along that of another one that runs.
final class PlanKeepers: Sendable {
    private struct Keeper {
        weak let session: Session?
        let plan: Session.Plan
    }

    private let keepers = Mutex<[BluetoothAddress: [Keeper]]>([:])

    /// Claims what an earlier run of the program has stored at these addresses of the session's plan.
    func claim(_ addresses: [BluetoothAddress], by session: Session) {
        keepers.withLock { keepers in for address in addresses { Self.add(session, at: address, to: &keepers) } }
    }

    /// Stores the plan of a session at this address, beside those of others that run.
    func store(_ record: SessionRecord, at address: BluetoothAddress, by session: Session, in store: PeerStore) {
        change(address, by: session) { keepers, others in
            Self.add(session, at: address, to: &keepers)
            store.update(address) { peer in
                let others = peer.sessions.filter { others.contains($0.withoutName) && !$0.isSamePlan(as: record) }
                peer.sessions = [record] + others
            }
        }
    }

    /// Removes what is stored at this address, but for the plans of others that run.
    ///
    /// - Parameter record: what to remove at most; `nil`: all.
    func withdraw(
        _ record: SessionRecord? = nil,
        from address: BluetoothAddress,
        by session: Session,
        in store: PeerStore,
        isLasting: Bool = false
    ) {
        change(address, by: session) { keepers, others in
            keepers[address]?.removeAll { $0.session === session }
            store.update(address, isLasting: isLasting) { peer in
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
        _ body: (inout [BluetoothAddress: [Keeper]], [SessionRecord]) -> Void
    ) {
        // Released outside the lock: the programs' closures may be deallocated with them.
        var alive: [Session] = []
        keepers.withLock { keepers in
            var others: [SessionRecord] = []
            for keeper in keepers[address] ?? [] {
                guard let other = keeper.session else { continue }
                alive.append(other)
                if other !== session, other.orders.isDriven { others.append(SessionRecord(keeper.plan, name: nil)) }
            }
            body(&keepers, others)
        }
        withExtendedLifetime(alive) {}
    }

    private static func add(
        _ session: Session,
        at address: BluetoothAddress,
        to keepers: inout [BluetoothAddress: [Keeper]]
    ) {
        if keepers[address] == nil { keepers = keepers.filter { !$0.value.allSatisfy { $0.session == nil } } }
        keepers[address, default: []].removeAll { $0.session == nil || $0.session === session }
        keepers[address, default: []].append(Keeper(session: session, plan: session.plan))
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
