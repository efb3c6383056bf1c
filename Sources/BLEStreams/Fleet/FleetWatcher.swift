import Synchronization

/// Watches one property of every session of a fleet: begins once for each session, and ends all.
final class FleetWatcher: Sendable {
    private struct State {
        var open: [ObjectIdentifier: (number: Int, close: @Sendable () -> Void)] = [:]
        /// The number of sessions so far: they are closed in their order.
        var count = 0
        var isOver = false
    }

    private let start: @Sendable (Session) -> @Sendable () -> Void
    private let end: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - start: begins to watch a session; the closure it returns ends that.
    ///   - end: called when the fleet has ended.
    init(
        start: @escaping @Sendable (Session) -> @Sendable () -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        self.start = start
        self.end = end
    }

    /// Watches a session, once.
    func watch(_ session: Session) {
        let id = ObjectIdentifier(session)
        let isNew = state.withLock { state in
            guard !state.isOver, state.open[id] == nil else { return false }
            state.count += 1
            state.open[id] = (state.count, {})
            return true
        }
        guard isNew else { return }
        let close = start(session)
        let isOver = state.withLock { state in
            guard state.open[id] != nil else { return true }
            state.open[id]?.close = close
            return false
        }
        if isOver { close() }
    }

    /// The session has left the fleet.
    func forget(_ session: Session) {
        let close = state.withLock { $0.open.removeValue(forKey: ObjectIdentifier(session))?.close }
        close?()
    }

    /// The fleet has ended.
    func finish() {
        close()
        end()
    }

    func close() {
        let all = state.withLock { state in
            state.isOver = true
            defer { state.open = [:] }
            return state.open.values.sorted { $0.number < $1.number }.map { $0.close }
        }
        for close in all { close() }
    }
}
