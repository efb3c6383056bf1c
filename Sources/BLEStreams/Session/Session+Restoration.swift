import BLEProtocol
import Synchronization

extension Central {
    /// The plans stored by earlier runs of the program, in the order of their addresses.
    ///
    /// If its plan says so (``Session/Plan/isKept``), a session is stored from its first link until it is forgotten.
    /// The cached services and the bond, in the same file, are restored with the plan. This reads files, so don't call
    /// it on ``executor``.
    public var keptPlans: [Session.Plan] {
        let store = core.store
        return store.peers().compactMap { peer in store.record(of: peer).session?.plan(for: peer) }
    }
}

extension Fleet {
    /// Adds all sessions stored by earlier runs of the program: those of ``Central/keptPlans``. This reads files, so
    /// don't call it on ``Central/executor``.
    ///
    /// A link that the kernel still holds, for two seconds after a program was killed, is taken over: the MTU is not
    /// negotiated again, and subscriptions are made again, which has no effect if they are still in place.
    ///
    /// - Parameter initialise: the program's first steps on each link, before the subscriptions; they must succeed.
    /// - Returns: the sessions.
    @discardableResult
    public func restore(
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) -> [Session] {
        central.keptPlans.map { add($0, initialise: initialise) }
    }
}

extension Session {
    /// Removes this session from the store, so that later runs of the program don't restore it; the session itself
    /// continues.
    public func forget() {
        guard let address = peripheral?.address else { return }
        for name in storedNames(of: address) { core.store.update(name) { $0.session = nil } }
    }

    /// Stores the plan for the next run of the program, if it is to be kept: under the identity, if that is known.
    func keep() {
        guard plan.isKept, let address = peripheral?.address else { return }
        let (record, identity) = (SessionRecord(plan, name: name), core.identities.identity(of: address))
        // Under a private address, which it was found by before it paired, it would be restored once more.
        for former in storedNames(of: address) where former != identity {
            core.store.update(former) { $0.session = nil }
        }
        facts.withLock { $0.keptAs = identity }
        core.store.update(identity) { $0.session = record }
    }

    /// Where the plan for the peripheral with this address may be stored: there, under its identity, and under the
    /// private addresses that this session has known it by.
    private func storedNames(of address: BluetoothAddress) -> Set<BluetoothAddress> {
        let identities = core.identities
        let identity = identities.identity(of: address)
        var known = facts.withLock { $0.keptAs }.map { [$0] } ?? []
        if case .addresses(let planned) = plan.target { known += planned }
        return Set(known.filter { identities.identity(of: $0) == identity }).union([address, identity])
    }
}
