import Synchronization

/// A closure that receives the events of several radios, each on its own thread: it is called for one event at a time,
/// in their order of arrival, until it is closed.
///
/// An event that arrives during a call is delivered by the thread that makes that call; no lock is held meanwhile.
final class SerialSink<Event: Sendable>: Sendable {
    private struct State {
        var closure: (@Sendable (Event) -> Void)?
        var waiting: [Event] = []
        var isCalling = false
        /// Whether the last event is among the waiting ones.
        var isEnding = false
    }

    private let state: Mutex<State>

    init(_ closure: @escaping @Sendable (Event) -> Void) { state = Mutex(State(closure: closure)) }

    /// Whether it still delivers events.
    var isOpen: Bool { state.withLock { $0.closure != nil && !$0.isEnding } }

    /// Delivers an event.
    func send(_ event: Event) { enqueue(event, isLast: false) }

    /// Delivers the last event.
    func finish(_ event: Event) { enqueue(event, isLast: true) }

    /// Ends all calls.
    func close() {
        // Released outside the lock: this may deallocate what it holds.
        _ = state.withLock { state in
            state.waiting = []
            return state.closure.take()
        }
    }

    private func enqueue(_ event: Event, isLast: Bool) {
        let mustCall = state.withLock { state in
            guard state.closure != nil, !state.isEnding else { return false }
            state.waiting.append(event)
            state.isEnding = isLast
            defer { state.isCalling = true }
            return !state.isCalling
        }
        guard mustCall else { return }
        while let (closure, events) = next() {
            for event in events where state.withLock({ $0.closure != nil }) { closure(event) }
        }
    }

    private func next() -> (closure: @Sendable (Event) -> Void, events: [Event])? {
        let (next, ended): (((@Sendable (Event) -> Void), [Event])?, (@Sendable (Event) -> Void)?) = state.withLock {
            state in
            guard let closure = state.closure, !state.waiting.isEmpty else {
                state.isCalling = false
                return (nil, state.isEnding ? state.closure.take() : nil)
            }
            defer { state.waiting = [] }
            return ((closure, state.waiting), nil)
        }
        _ = ended
        return next
    }
}
