internal import Synchronization

/// The closure of an activity, until the activity is cancelled or over.
///
/// The lock is not held during a call, so the closure may cancel its own activity.
final class EventSink<Event: Sendable>: Sendable {
    /// A lock that holds a closure directly wraps it once more at each access: the wrappers take memory, and call one
    /// another until the stack is full. A member of a structure is not wrapped.
    private struct State {
        var closure: (@Sendable (Event) -> Void)?
    }

    private let state: Mutex<State>

    init(_ closure: @escaping @Sendable (Event) -> Void) { state = Mutex(State(closure: closure)) }

    /// Whether the activity is still open.
    var isOpen: Bool { state.withLock { $0.closure != nil } }

    /// Delivers an event.
    func send(_ event: Event) { state.withLock { $0.closure }?(event) }

    /// Delivers the last event.
    func finish(_ event: Event) { take()?(event) }

    /// Ends it; the closure is not called any more.
    func close() { _ = take() }

    private func take() -> (@Sendable (Event) -> Void)? {
        state.withLock { state in
            defer { state.closure = nil }
            return state.closure
        }
    }
}
