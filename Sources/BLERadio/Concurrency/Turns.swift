import Synchronization

/// Lets a limited number of callers in at a time, the others in the order in which they came; carries out what
/// ``TurnOrder`` decides.
///
/// - Each caller is let in once, immediately or later, unless it leaves first.
/// - Leaving is idempotent, while waiting or during a turn, and lets the next caller in.
/// - If turns are limited, a caller whose turn has lasted that long is asked to make room once another one waits; it
///   leaves, and may line up again.
/// - No lock is held while a caller is let in or asked to leave.
package final class Turns: Sendable {
    /// How long a turn lasts at least before another caller may claim it.
    package struct Limit: Sendable {
        let length: Duration
        let timeline: any Timeline

        package init(_ length: Duration, on timeline: any Timeline) {
            self.length = length
            self.timeline = timeline
        }
    }

    private struct Caller {
        let grant: @Sendable () -> Void
        let revoke: @Sendable () -> Void
    }

    private struct State {
        var order: TurnOrder
        var callers: [TurnOrder.ID: Caller] = [:]
        /// Fires when the caller with the longest turn has to make room.
        var timer: RadioActivity?
    }

    private let limit: Limit?
    private let state: Mutex<State>

    /// - Parameters:
    ///   - width: how many may have a turn at the same time.
    ///   - limit: after how long a caller makes room for one that waits; `nil`: turns last as long as their callers
    ///     like.
    package init(width: Int = 1, limit: Limit? = nil) {
        self.limit = limit
        state = Mutex(State(order: TurnOrder(width: width)))
    }

    /// Lines up.
    ///
    /// - Parameters:
    ///   - grant: called once when the turn begins, perhaps immediately.
    ///   - revoke: called when another caller needs the turn.
    /// - Returns: a closure that leaves.
    package func enter(
        grant: @escaping @Sendable () -> Void,
        revoke: @escaping @Sendable () -> Void = {}
    ) -> @Sendable () -> Void {
        let id = state.withLock { state in
            let id = state.order.add()
            state.callers[id] = Caller(grant: grant, revoke: revoke)
            return id
        }
        admit()
        return { self.leave(id) }
    }

    /// Waits for a turn. The returned closure ends it.
    ///
    /// - Parameter limit: how long to wait, and the error to throw then; `nil`: for as long as it takes.
    /// - Throws: `CancellationError` if the caller is cancelled while it waits; the limit's error.
    package func enter(
        on timeline: any Timeline,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil
    ) async throws -> @Sendable () -> Void {
        let leave: @Sendable (@Sendable () -> Void) -> Void = { $0() }
        return try await reply(on: timeline, limit: limit, unwanted: leave) { finish in
            // The turn may come and end before the closure that leaves is known here.
            let turn = Ending<Void>()
            turn.undo(enter { finish(.success { turn.end() }) })
            return { turn.end() }
        }
    }

    /// Waits for a turn, and runs the closure in it.
    ///
    /// - Parameter limit: how long to wait, and the error to throw then; `nil`: for as long as it takes.
    /// - Throws: `CancellationError` if the caller is cancelled while it waits; the limit's error; what the closure
    ///   throws.
    package func run<Output>(
        on timeline: any Timeline,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        _ body: () async throws -> Output
    ) async throws -> Output {
        let leave = try await enter(on: timeline, limit: limit)
        defer { leave() }
        return try await body()
    }

    private func leave(_ id: TurnOrder.ID) {
        // Released outside the lock: what it holds may be deallocated with it.
        let caller = state.withLock { state in
            state.order.remove(id)
            return state.callers.removeValue(forKey: id)
        }
        if caller != nil { admit() }
    }

    /// Lets waiting callers in as long as there is room.
    private func admit() {
        let now = limit?.timeline.now ?? .zero
        let (admitted, timer) = state.withLock { state -> ([Caller], RadioActivity?) in
            var admitted: [Caller] = []
            while let id = state.order.admit(now: now) {
                if let caller = state.callers[id] { admitted.append(caller) }
            }
            return (admitted, state.order.waiting.isEmpty ? state.timer.take() : nil)
        }
        timer?.cancel()
        for caller in admitted { caller.grant() }
        watch()
    }

    // MARK: - Making room

    /// Sets the timer that asks the caller with the longest turn to make room.
    private func watch() {
        guard let limit else { return }
        let now = limit.timeline.now
        let delay = state.withLock { state -> Duration? in
            guard state.timer == nil, !state.order.waiting.isEmpty, let oldest = state.order.inside.first else {
                return nil
            }
            return max(.zero, oldest.since + limit.length - now)
        }
        guard let delay else { return }
        let timer = limit.timeline.schedule(after: delay) { [weak self] in self?.turnIsOver(limit) }
        let superfluous = state.withLock { state -> RadioActivity? in
            guard state.timer == nil, !state.order.waiting.isEmpty else { return timer }
            state.timer = timer
            return nil
        }
        superfluous?.cancel()
    }

    private func turnIsOver(_ limit: Limit) {
        let now = limit.timeline.now
        let (over, caller) = state.withLock { state -> (RadioActivity?, Caller?) in
            let over = state.timer.take()
            guard !state.order.waiting.isEmpty, let oldest = state.order.inside.first,
                oldest.since + limit.length <= now
            else { return (over, nil) }
            return (over, state.callers[oldest.id])
        }
        withExtendedLifetime(over) {}
        if let caller { caller.revoke() } else { watch() }
    }
}
