import Synchronization

/// What observers are told, in the order in which it happened, with no lock held.
///
/// The owner of a table of observers puts the calls in while it holds its lock, so that their order is that of what
/// happened, and has them made once the lock is released. Observers may call back into the owner.
///
/// - Each call is made once, one at a time, in the order in which they were put in.
/// - ``make()`` returns at once where another thread, or a caller further up the stack, is making them: that one goes on
///   until none is left.
package final class Announcements: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var areBeingMade = false

        /// The next ones; whoever gets none has nothing to do any more.
        mutating func take() -> [@Sendable () -> Void] {
            var taken: [@Sendable () -> Void] = []
            swap(&taken, &calls)
            areBeingMade = !taken.isEmpty
            return taken
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Puts a call in; it is made by ``make()``.
    package func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Makes the calls that were put in; to be called without a lock.
    package func make() {
        var calls = state.withLock { state in state.areBeingMade ? [] : state.take() }
        while !calls.isEmpty {
            for call in calls { call() }
            calls = state.withLock { $0.take() }
        }
    }
}
