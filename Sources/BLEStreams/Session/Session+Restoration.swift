import BLEProtocol

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
        core.store.update(address) { $0.session = nil }
    }

    /// Stores the plan for the next run of the program, if it is to be kept.
    func keep() {
        guard plan.isKept, let address = peripheral?.address else { return }
        let record = SessionRecord(plan, name: name)
        core.store.update(address) { $0.session = record }
    }
}
