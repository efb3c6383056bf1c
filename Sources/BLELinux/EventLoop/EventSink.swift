internal import Synchronization

/// The closure of somebody who asked for an activity, until the activity is cancelled or over.
///
/// The lock is not held during a call, so the closure may cancel its own activity.
final class EventSink<Event: Sendable>: Sendable {
    /// A lock that holds a closure by itself wraps it once more with each look at it: the wraps take memory, and are called
    /// one by the other until the stack is full. A member of a structure stays as it is.
    private struct State {
        var closure: (@Sendable (Event) -> Void)?
    }

    private let state: Mutex<State>

    init(_ closure: @escaping @Sendable (Event) -> Void) { state = Mutex(State(closure: closure)) }

    /// Whether anybody listens still.
    var isOpen: Bool { state.withLock { $0.closure != nil } }

    /// Hands over an event.
    func send(_ event: Event) { state.withLock { $0.closure }?(event) }

    /// Hands over the last event.
    func finish(_ event: Event) { take()?(event) }

    /// Calls nobody any more.
    func close() { _ = take() }

    private func take() -> (@Sendable (Event) -> Void)? {
        state.withLock { state in
            defer { state.closure = nil }
            return state.closure
        }
    }
}
