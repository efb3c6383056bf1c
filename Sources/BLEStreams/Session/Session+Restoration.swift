import BLEProtocol
import Synchronization

extension Central {
    /// The plans stored by earlier runs of the program, in the order of their addresses.
    ///
    /// If its plan says so (``Session/Plan/isKept``), a session is stored from its first link until it is forgotten, or
    /// until another session with the same peripheral is stored while it doesn't run. Sessions that run side by side
    /// are all kept, also those of several centrals with one store; those with the same plan count as one.
    /// The cached services and the bond, in the same file, are restored with the plan. A plan that this version of the
    /// library can't follow, because a later one has stored it, is left out with a warning; so are those in files that
    /// can't be read, of which ``bonds`` throws the reason. This reads files, so don't call it on ``executor``.
    public var keptPlans: [Session.Plan] { plans(of: core.store.peers()) }

    fileprivate func plans(of peers: [BluetoothAddress]) -> [Session.Plan] {
        let store = core.store
        return peers.flatMap { peer in
            store.record(of: peer).sessions.compactMap { session in
                let plan = session.plan(for: peer)
                if plan == nil { store.warn(.cannotRestore(peer)) }
                return plan
            }
        }
    }
}

extension Fleet {
    /// Adds all sessions stored by earlier runs of the program: those of ``Central/keptPlans``. This reads files, so
    /// don't call it on ``Central/executor``.
    ///
    /// A link that the kernel still holds, for two seconds after a program was killed, is ended, and there is a new
    /// one. Without `CAP_NET_ADMIN`, and on Linux 6.1, it is taken over: the MTU is negotiated again, and subscriptions
    /// are made again, which has no effect if they are still in place.
    ///
    /// - Parameter initialise: the program's first steps on each link, before the subscriptions; they must succeed.
    /// - Returns: the sessions.
    /// - Throws: ``BLEError/Code/systemFailure`` if the store's folder can't be read, for example because the program
    ///   has run out of descriptors: then nothing is added, and the program may try again.
    @discardableResult
    public func restore(
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) throws -> [Session] {
        let (peers, obstacle) = central.core.store.knownPeers()
        if let obstacle { throw BLEError.unread("the stored plans can't be read", obstacle, "restore sessions") }
        return central.plans(of: peers).map { add($0, initialise: initialise) }
    }
}

extension Session {
    /// Removes this session from the store, so that later runs of the program don't restore it; the session itself
    /// continues, and is not stored again. The plans of other sessions that run with the same peripheral stay.
    public func forget() {
        // A peripheral that is being searched for has no address, but the plan is stored under its last one; one whose
        // kind of address is not known yet has two, and an earlier run has stored the plan under the right one.
        let addresses = facts.withLock { $0.addresses }
        let names = Set(addresses.flatMap { storedNames(of: $0) })
        // Released outside the locks: the programs' closures may be deallocated with them.
        var others: [Session] = []
        facts.withLock { facts in
            facts.isForgotten = true
            for name in names { core.store.planKeepers.withdraw(from: name, by: self, in: core.store, &others) }
            if let kept = facts.kept.take() { withdraw(kept, &others) }
        }
        withExtendedLifetime(others) {}
    }

    /// Stores the plan for the next run of the program, if it is to be kept: under the identity, if that is known.
    func keep() {
        guard plan.isKept, let address = peripheral?.address else { return }
        let (record, identity) = (SessionRecord(plan, name: name), core.identities.identity(of: address))
        let names = storedNames(of: address)
        var others: [Session] = []
        // In one step with looking whether it is forgotten: the program may forget it meanwhile.
        facts.withLock { facts in
            guard !facts.isForgotten else { return }
            // Under a private address, which it was found by before it paired, it would be restored once more.
            for former in names where former != identity {
                core.store.planKeepers.withdraw(from: former, by: self, in: core.store, &others)
            }
            if let kept = facts.kept, kept.address != identity { withdraw(kept, &others) }
            facts.kept = (identity, record)
            core.store.planKeepers.store(record, at: identity, by: self, in: core.store, &others)
        }
        withExtendedLifetime(others) {}
    }

    /// Removes what this session has stored for an address that its peripheral no longer has, unless another session
    /// has stored another plan there.
    private func withdraw(
        _ kept: (address: BluetoothAddress, record: SessionRecord),
        _ others: inout [Session]
    ) {
        core.store.planKeepers.withdraw(kept.record, from: kept.address, by: self, in: core.store, &others)
    }

    /// Where the plan for the peripheral with this address may be stored: there, under its identity, and under the
    /// private addresses that this session has known it by.
    private func storedNames(of address: BluetoothAddress) -> Set<BluetoothAddress> {
        let identities = core.identities
        let identity = identities.identity(of: address)
        var known = facts.withLock { $0.kept }.map { [$0.address] } ?? []
        if case .addresses(let planned) = plan.target { known += planned }
        return Set(known.filter { identities.identity(of: $0) == identity }).union([address, identity])
    }
}

extension BLEError {
    fileprivate static func cannotRestore(_ peer: BluetoothAddress) -> BLEError {
        .store(
            "restore",
            "the session with \(peer)",
            cause: "its stored plan has what this version of the library doesn't know",
            remedy: "Use the version that has stored it, or add a session with a new plan."
        )
    }
}
