import BLEProtocol

extension Central {
    /// The plans of the sessions that earlier runs of the program kept, in the order of their addresses.
    ///
    /// A session is kept where its plan says so (``Session/Plan/isKept``), from its first link on, until it is
    /// forgotten. With the plan come the cache of the attributes and the bond, which lie in the same file. Reads
    /// files, so ask elsewhere than on ``executor``.
    public var keptPlans: [Session.Plan] {
        let store = core.store
        return store.peers().compactMap { peer in store.record(of: peer).session?.plan(for: peer) }
    }
}

extension Fleet {
    /// Adds all sessions that earlier runs of the program kept, as ``Central/keptPlans`` has them. Reads files, so call it
    /// elsewhere than on ``Central/executor``.
    ///
    /// A link that the kernel still holds, for two seconds after a program was killed, is taken over: nothing is
    /// negotiated a second time, and subscriptions are made afresh, which changes nothing where they are on.
    ///
    /// - Parameter initialise: what has to succeed first on each link, before the subscriptions.
    /// - Returns: the sessions.
    @discardableResult
    public func restore(
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) -> [Session] {
        central.keptPlans.map { add($0, initialise: initialise) }
    }
}

extension Session {
    /// Has later runs of the program know nothing of this session; it goes on as it is.
    public func forget() {
        guard let address = peripheral?.address else { return }
        core.store.update(address) { $0.session = nil }
    }

    /// Writes down what the next run of the program needs, where the plan wants that.
    func keep() {
        guard plan.isKept, let address = peripheral?.address else { return }
        let record = SessionRecord(plan, name: name)
        core.store.update(address) { $0.session = record }
    }
}
