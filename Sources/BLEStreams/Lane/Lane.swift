import Synchronization

/// Carries out what ``LaneOrder`` says: all operations of a link pass here before they reach the bearer.
final class Lane: Sendable {
    /// In whose name an operation is begun: that of the hold with this number.
    typealias Pass = LaneOrder.ID

    private struct State {
        var order = LaneOrder()
        /// Of those that wait, which are none as a rule.
        var actions: [LaneOrder.ID: @Sendable (Entry) -> Void] = [:]

        mutating func forget(_ id: LaneOrder.ID) { if !actions.isEmpty { actions[id] = nil } }
    }

    /// A place in the lane, waiting or inside.
    struct Entry: Sendable {
        let lane: Lane
        let id: LaneOrder.ID

        /// Lets the next one in. Idempotent; one that still waits never begins.
        func leave() {
            lane.change { state in
                state.forget(id)
                return state.order.end(id)
            }
        }

        /// Leaves where it still waits, and else does nothing; whether it did wait.
        @discardableResult
        func withdraw() -> Bool {
            var didWait = false
            lane.change { state in
                let (waited, granted) = state.order.withdraw(id)
                didWait = waited
                if waited { state.forget(id) }
                return granted
            }
            return didWait
        }
    }

    private let state = Mutex(State())

    /// Whether the hold has the link still.
    func isHeld(by pass: Pass?) -> Bool { state.withLock { $0.order.isHeld(by: pass) } }

    /// Whether the running task would wait for its own hold to end.
    func wouldWaitForItself(with pass: Pass?) -> Bool {
        guard let own = LaneHolds.current?.pass(of: self), own != pass else { return false }
        return isHeld(by: own)
    }

    /// Calls the closure as soon as an operation may begin: at once, or when the hold that is in the way is over.
    ///
    /// Whoever is let in calls ``Entry/leave()`` when it is done.
    @discardableResult
    func enter(_ pass: Pass?, _ action: @escaping @Sendable (Entry) -> Void) -> Entry {
        let (id, isGranted) = state.withLock { state in
            let request = state.order.beginOperation(pass: pass)
            if !request.isGranted { state.actions[request.id] = action }
            return request
        }
        let entry = Entry(lane: self, id: id)
        if isGranted { action(entry) }
        return entry
    }

    /// Does what takes no time at once where an operation may begin, and nothing else; whether it was done.
    func attempt(_ pass: Pass?, _ action: () -> Bool) -> Bool {
        guard state.withLock({ $0.order.beginInstant(pass: pass) }) else { return false }
        defer { change { $0.order.endInstant() } }
        return action()
    }

    /// Calls the closure as soon as nobody else uses the link; its number is the pass of the hold.
    func hold(_ action: @escaping @Sendable (Entry) -> Void) -> Entry {
        let (id, isGranted) = state.withLock { state in
            let request = state.order.beginHold()
            if !request.isGranted { state.actions[request.id] = action }
            return request
        }
        let entry = Entry(lane: self, id: id)
        if isGranted { action(entry) }
        return entry
    }

    /// The link is over: whoever waits goes on, and hears it from the bearer.
    func open() { change { $0.order.open() } }

    private func change(_ body: (inout State) -> [LaneOrder.ID]) {
        let granted = state.withLock { body(&$0) }
        if !granted.isEmpty { begin(granted) }
    }

    private func begin(_ granted: [LaneOrder.ID]) {
        let actions = state.withLock { state in
            granted.compactMap { id in state.actions.removeValue(forKey: id).map { (id, $0) } }
        }
        for (id, action) in actions { action(Entry(lane: self, id: id)) }
    }
}
