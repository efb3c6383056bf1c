import Synchronization

/// Something that ends once, with a reason: a wish, a link, the time of a caller. The end may come before what is to be done
/// then is known, as a cancellation may come before what it cancels.
///
/// - The first end counts; each observer is called once, with the same reason.
/// - Observers added before the end are called by the caller of `end(_:)`, in the order in which they were added;
///   observers added later are called immediately.
/// - A removed observer isn't called, unless its call was already under way.
/// - No lock is held while an observer is called, nor while a closure that is no longer needed is released.
package final class Ending<Reason: Sendable>: Sendable {
    private struct State {
        var reason: Reason?
        var actions = Observers<@Sendable (Reason) -> Void>()
    }

    private let state = Mutex(State())

    package init() {}

    /// Why it has ended; `nil` while it hasn't.
    package var reason: Reason? { state.withLock { $0.reason } }

    /// Whether it has ended.
    package var hasEnded: Bool { state.withLock { $0.reason != nil } }

    /// Ends it; whether this call did.
    @discardableResult
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

    /// Calls the closure once it has ended, at once where it has; what is returned takes that back.
    @discardableResult
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

    private func removeActions() -> [@Sendable (Reason) -> Void] { state.withLock { $0.actions.removeAll() } }
}

extension Ending where Reason == Void {
    /// Ends it; whether this call did.
    @discardableResult
    package func end() -> Bool { end(()) }

    /// Waits until it has ended.
    ///
    /// - Throws: `CancellationError`.
    package func wait(on timeline: any Timeline) async throws {
        try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            whenEnded { finish(.success(())) }
        }
    }

    /// Undoes something once it has ended; at once where it has.
    package func undo(_ action: @escaping @Sendable () -> Void) { whenEnded { _ in action() } }

    /// Undoes this once it has ended, instead of what was named before: for what opens one thing after the other.
    package func undoInstead(_ action: @escaping @Sendable () -> Void) {
        let former = removeActions()
        undo(action)
        withExtendedLifetime(former) {}
    }

    /// Cancels an activity once it has ended, and keeps it until then; cancels it at once where it has.
    package func cancel(_ activity: RadioActivity) { whenEnded { _ in activity.cancel() } }
}
