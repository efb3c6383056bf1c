import Synchronization

/// Lets a limited number of callers in at a time, the others in the order in which they came; carries out what
/// ``TurnOrder`` decides.
///
/// - Each caller is let in once, immediately or later, unless it leaves first.
/// - Leaving is idempotent, while waiting or during a turn, and lets the next caller in.
/// - If turns are limited, a caller whose turn has lasted that long is asked to make room once another one waits; it
///   leaves, and may line up again. Whenever a turn ends by itself, the others have the whole time again: what they
///   wait for goes on, and those who wait in line are let in without taking anybody's turn away.
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
        /// Those who were asked to make room, and have not left yet.
        var asked: Set<TurnOrder.ID> = []
        /// When a turn last ended by itself.
        var progress: Duration?
        /// Fires when the caller with the longest turn has to make room.
        var timer: RadioActivity?
        /// The number of the timer that is set, or is being set: it may fire before it is known here. `nil`: none is.
        var watch: Int?
        /// How many timers were set.
        var watches = 0

        /// When a turn that began then has lasted for long enough.
        func end(of beginning: Duration, _ limit: Limit) -> Duration {
            max(beginning, progress ?? beginning) + limit.length
        }
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

    /// Waits for a turn, unless something else ends the wait before it comes. The returned closure ends the turn.
    ///
    /// - Parameters:
    ///   - limit: how long to wait, and the error to throw then; `nil`: for as long as it takes.
    ///   - watch: called if the turn doesn't come at once. It looks for what ends the wait, reports it, at once or
    ///     later, with the error to throw, and returns the closure that ends the looking.
    /// - Throws: `CancellationError` if the caller is cancelled while it waits; the limit's error; the reported one.
    package func enter(
        on timeline: any Timeline,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        unless watch: @Sendable (_ report: @escaping @Sendable (any Error) -> Void) -> @Sendable () -> Void = { _ in
            return {}
        }
    ) async throws -> @Sendable () -> Void {
        let leave: @Sendable (@Sendable () -> Void) -> Void = { $0() }
        return try await reply(on: timeline, limit: limit, unwanted: leave) {
            (finish: @escaping @Sendable (Result<@Sendable () -> Void, any Error>) -> Void) in
            // The turn may come and end before the closure that leaves is known here. What ends the wait first counts:
            // no report ends a turn that has come.
            let (turn, wait) = (Ending<Void>(), Ending<Void>())
            turn.undo(
                enter {
                    guard wait.end() else {
                        turn.end()
                        return
                    }
                    finish(.success { turn.end() })
                }
            )
            if wait.hasEnded { return { turn.end() } }
            wait.undo(
                watch { error in
                    guard wait.end() else { return }
                    finish(.failure(error))
                    turn.end()
                }
            )
            return {
                turn.end()
                wait.end()
            }
        }
    }

    private func leave(_ id: TurnOrder.ID) {
        let now = limit?.timeline.now
        // Released outside the lock: what it holds may be deallocated with it.
        let caller = state.withLock { state in
            let wasAsked = state.asked.remove(id) != nil
            if state.order.isInside(id), !wasAsked { state.progress = now }
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
            guard state.order.waiting.isEmpty else { return (admitted, nil) }
            state.watch = nil
            return (admitted, state.timer.take())
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
        let next = state.withLock { state -> (delay: Duration, number: Int)? in
            guard state.watch == nil, !state.order.waiting.isEmpty, let oldest = state.order.inside.first else {
                return nil
            }
            state.watches += 1
            state.watch = state.watches
            return (max(.zero, state.end(of: oldest.since, limit) - now), state.watches)
        }
        guard let (delay, number) = next else { return }
        let timer = limit.timeline.schedule(after: delay) { [weak self] in self?.turnIsOver(limit, number) }
        let superfluous = state.withLock { state -> RadioActivity? in
            guard state.watch == number else { return timer }
            state.timer = timer
            return nil
        }
        superfluous?.cancel()
    }

    /// - Parameter number: the timer's; one that was replaced is ignored.
    private func turnIsOver(_ limit: Limit, _ number: Int) {
        let now = limit.timeline.now
        let over = state.withLock { state -> (timer: RadioActivity?, caller: Caller?)? in
            guard state.watch == number else { return nil }
            state.watch = nil
            let timer = state.timer.take()
            guard !state.order.waiting.isEmpty, let oldest = state.order.inside.first,
                state.end(of: oldest.since, limit) <= now
            else { return (timer, nil) }
            state.asked.insert(oldest.id)
            return (timer, state.callers[oldest.id])
        }
        guard let (timer, caller) = over else { return }
        withExtendedLifetime(timer) {}
        if let caller { caller.revoke() } else { watch() }
    }
}
