import Synchronization

/// Calls observers in the order of the events, with no lock held.
///
/// The owner of a table of observers adds the calls while it holds its lock, so that they keep the order of the events,
/// and makes them once the lock is released. Observers may call back into the owner.
///
/// - Each call is made once, one at a time, in the order in which they were added.
/// - ``make()`` returns immediately if another thread, or a caller further up the stack, is making the calls; that one
///   continues until none is left.
package final class Announcements: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var areBeingMade = false

        /// Takes the next calls; if there are none, the caller is done.
        mutating func take() -> [@Sendable () -> Void] {
            var taken: [@Sendable () -> Void] = []
            swap(&taken, &calls)
            areBeingMade = !taken.isEmpty
            return taken
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds a call; ``make()`` makes it.
    package func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Makes the calls that were added; call it without holding a lock.
    package func make() {
        var calls = state.withLock { state in state.areBeingMade ? [] : state.take() }
        while !calls.isEmpty {
            for call in calls { call() }
            calls = state.withLock { $0.take() }
        }
    }
}
