import Synchronization

/// Something that a radio does until it is told to stop: a scan, an attempt to connect, a listener, an advertisement.
///
/// Cancelling is idempotent, and letting go of the last reference cancels: nothing outlives its owner.
public final class RadioActivity: Sendable {
    private struct State {
        var onCancel: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// Makes an activity that calls the closure once, when it is cancelled.
    public init(onCancel: @escaping @Sendable () -> Void) {
        state = Mutex(State(onCancel: onCancel))
    }

    /// Stops the activity; calling it again does nothing.
    public func cancel() {
        let action = state.withLock { state in
            defer { state.onCancel = nil }
            return state.onCancel
        }
        action?()
    }

    deinit { cancel() }
}
