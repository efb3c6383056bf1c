internal import Synchronization

/// The closure of somebody who asked for an activity, until the activity is cancelled or over.
///
/// The lock is not held during a call, so the closure may cancel its own activity.
final class EventSink<Event: Sendable>: Sendable {
    private let closure: Mutex<(@Sendable (Event) -> Void)?>

    init(_ closure: @escaping @Sendable (Event) -> Void) { self.closure = Mutex(closure) }

    /// Whether anybody listens still.
    var isOpen: Bool { closure.withLock { $0 != nil } }

    /// Hands over an event.
    func send(_ event: Event) { closure.withLock { $0 }?(event) }

    /// Hands over the last event.
    func finish(_ event: Event) { take()?(event) }

    /// Calls nobody any more.
    func close() { _ = take() }

    private func take() -> (@Sendable (Event) -> Void)? {
        closure.withLock { closure in
            defer { closure = nil }
            return closure
        }
    }
}
