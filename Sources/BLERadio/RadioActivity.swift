public import BLEProtocol
import Synchronization

/// Something that a radio does until it is told to stop: a scan, an attempt to connect, a listener, an advertisement.
///
/// Cancelling is idempotent, and releasing the last reference cancels: nothing outlives its owner.
public final class RadioActivity: Sendable {
    /// Changes what an advertisement says, and calls the result once.
    public typealias Change = @Sendable (AdvertiseRequest, @escaping @Sendable (Result<Void, BLEError>) -> Void) -> Void

    private struct State {
        var onCancel: (@Sendable () -> Void)?
        var onChange: Change?
    }

    private let state: Mutex<State>

    /// Makes an activity that calls the closure once, when it is cancelled.
    ///
    /// - Parameter onChange: how to change an advertisement; `nil` for an activity that can't be changed.
    public init(onChange: Change? = nil, onCancel: @escaping @Sendable () -> Void) {
        state = Mutex(State(onCancel: onCancel, onChange: onChange))
    }

    /// Stops the activity; calling it again does nothing.
    public func cancel() {
        let action = state.withLock { state in
            defer { (state.onCancel, state.onChange) = (nil, nil) }
            return state.onCancel
        }
        action?()
    }

    /// Replaces the content of an advertisement: links stay up, and a refused change leaves the advertisement as it
    /// was.
    ///
    /// - Parameter result: called once, when the change is on air, or will be as soon as the controller can advertise
    ///   again; on the radio's context, or immediately with ``BLEError/Code/notSupported`` if the activity can't be
    ///   changed and ``BLEError/Code/ended`` if it is over.
    public func change(to request: AdvertiseRequest, result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let (change, isOver) = state.withLock { ($0.onChange, $0.onCancel == nil) }
        if let change { return change(request, result) }
        result(
            .failure(
                BLEError(
                    isOver ? .ended : .notSupported,
                    operation: "advertise",
                    cause: isOver ? "it no longer advertises" : "this radio can't change an advertisement",
                    remedy: isOver ? "Begin another advertisement." : "End the advertisement, and begin another one."
                )
            )
        )
    }

    deinit { cancel() }
}
