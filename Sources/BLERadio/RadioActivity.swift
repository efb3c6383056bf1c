import Synchronization

/// Something that a radio does until it is told to stop: a scan, an attempt to connect, a listener, an advertisement.
///
/// Cancelling is idempotent, and letting go of the last reference cancels: nothing outlives its owner.
public final class RadioActivity: Sendable {
    private let onCancel: Mutex<(@Sendable () -> Void)?>

    /// Makes an activity that calls the closure once, when it is cancelled.
    public init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = Mutex(onCancel)
    }

    /// Stops the activity; calling it again does nothing.
    public func cancel() {
        let action = onCancel.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    deinit { cancel() }
}
