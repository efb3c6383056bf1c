public import Synchronization

/// Something that ends once, with a reason: a request, a link, a caller's turn. It may end before anybody observes it,
/// as a cancellation may come before the activity that it cancels.
///
/// - The first end counts; each observer is called once, with the same reason.
/// - Observers added before the end are called by the caller of `end(_:)`, in the order in which they were added;
///   observers added later are called immediately.
/// - A removed observer isn't called, unless its call was already under way.
/// - No lock is held while an observer is called, nor while a closure that is no longer needed is released.
///
/// Inlinable, so that it is compiled for its reason: each command has two, and looked up their metadata at each step.
@usableFromInline
package final class Ending<Reason: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var reason: Reason?
        @usableFromInline var actions: Observers<@Sendable (Reason) -> Void>

        @inlinable
        init() {
            reason = nil
            actions = Observers()
        }
    }

    // Set in the initializer: a default value is created without specialization.
    @usableFromInline let state: Mutex<State>

    @inlinable
    package init() { state = Mutex(State()) }

    /// Why it has ended; `nil` while it hasn't.
    @inlinable
    package var reason: Reason? { state.withLock { $0.reason } }

    /// Whether it has ended.
    @inlinable
    package var hasEnded: Bool { state.withLock { $0.reason != nil } }

    /// How many observers wait for the end.
    package var observers: Int { state.withLock { $0.actions.count } }

    /// Ends it. Returns whether this call was the one that ended it.
    @discardableResult
    @inlinable
    package func end(_ reason: Reason) -> Bool {
        let actions: [@Sendable (Reason) -> Void]? = state.withLock { state in
            guard state.reason == nil else { return nil }
            state.reason = reason
            return state.actions.removeAll()
        }
        guard let actions else { return false }
        for action in actions { action(reason) }
        return true
    }

    /// Calls the closure when it ends, or immediately if it has ended. The returned closure removes the observer.
    @discardableResult
    @inlinable
    package func whenEnded(_ action: @escaping @Sendable (Reason) -> Void) -> @Sendable () -> Void {
        let (id, reason) = state.withLock { state in
            (state.reason == nil ? state.actions.add(action) : 0, state.reason)
        }
        if let reason {
            action(reason)
            return {}
        }
        return { _ = self.state.withLock { $0.actions.remove(id) } }
    }

    @inlinable
    func removeActions() -> [@Sendable (Reason) -> Void] { state.withLock { $0.actions.removeAll() } }
}

extension Ending where Reason == Void {
    /// Ends it. Returns whether this call was the one that ended it.
    @discardableResult
    @inlinable
    package func end() -> Bool { end(()) }

    /// Waits until it has ended.
    ///
    /// - Parameter limit: how long, and the error to throw then; `nil`: for as long as it takes.
    /// - Throws: `CancellationError`; the limit's error.
    @inlinable
    package func wait(
        on timeline: any Timeline,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil
    ) async throws {
        try await reply(on: timeline, limit: limit) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            whenEnded { finish(.success(())) }
        }
    }

    /// Calls an undo closure when it ends, or immediately if it has ended.
    @inlinable
    package func undo(_ action: @escaping @Sendable () -> Void) { whenEnded { _ in action() } }

    /// Calls this undo closure when it ends, instead of all observers added before: for steps that replace one another.
    @inlinable
    package func undoInstead(_ action: @escaping @Sendable () -> Void) {
        let former = removeActions()
        undo(action)
        withExtendedLifetime(former) {}
    }

    /// Keeps an activity and cancels it when it ends, or immediately if it has ended.
    @inlinable
    package func cancel(_ activity: RadioActivity) { whenEnded { _ in activity.cancel() } }
}
