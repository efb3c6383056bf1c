import BLERadio
import Synchronization

/// Waits in an `async` function for a result that arrives through a closure.
///
/// The caller returns at once when it is cancelled or the limit has passed, and `start`'s undo is then called; a result
/// that arrives later goes to `unwanted`.
///
/// - Parameters:
///   - limit: how long to wait, and the error to throw then; `nil`: whatever is waited for has a limit of its own.
///   - unwanted: what to do with a success that nobody waits for any more: a link that is up must be closed.
///   - start: begins the work; what it returns undoes it. The result may arrive before `start` has returned.
func reply<Success: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
    unwanted: @escaping @Sendable (Success) -> Void = { _ in },
    isolation actor: isolated (any Actor)? = #isolation,
    start: (@escaping @Sendable (Result<Success, any Error>) -> Void) -> @Sendable () -> Void
) async throws -> Success {
    let box = ReplyBox<Success>(unwanted: unwanted)
    return try await withTaskCancellationHandler {
        // Captured, it makes the closure the actor's: else a wait on the main actor takes two changes of thread more.
        _ = actor
        // Unchecked: it is the box that sees to it that there is one result.
        return try await withUnsafeThrowingContinuation { continuation in
            guard box.begin(continuation) else { return }
            let undo = start { result in box.finish(result) }
            let timer = limit.map { limit in
                timeline.schedule(after: limit.duration) { box.abandon(limit.error()) }
            }
            box.started(undo: undo, timer: timer)
        }
    } onCancel: {
        box.abandon(CancellationError())
    }
}

/// The one result of one wait; whoever comes first has it.
private final class ReplyBox<Success: Sendable>: Sendable {
    private struct State {
        var continuation: UnsafeContinuation<Success, any Error>?
        var undo: (@Sendable () -> Void)?
        var timer: RadioActivity?
        var isOver = false
        /// Over before there was a result: the work has to be undone, also when it begins only now.
        var isAbandoned = false
    }

    private let state = Mutex(State())
    private let unwanted: @Sendable (Success) -> Void

    init(unwanted: @escaping @Sendable (Success) -> Void) { self.unwanted = unwanted }

    /// Whether the wait may begin: the task may have been cancelled before.
    func begin(_ continuation: UnsafeContinuation<Success, any Error>) -> Bool {
        let mayBegin = state.withLock { state in
            guard !state.isOver else { return false }
            state.continuation = continuation
            return true
        }
        if !mayBegin { continuation.resume(throwing: CancellationError()) }
        return mayBegin
    }

    func started(undo: @escaping @Sendable () -> Void, timer: RadioActivity?) {
        let (isOver, isAbandoned) = state.withLock { state in
            if !state.isOver {
                state.undo = undo
                state.timer = timer
            }
            return (state.isOver, state.isAbandoned)
        }
        guard isOver else { return }
        timer?.cancel()
        if isAbandoned { undo() }
    }

    /// Hands over the result.
    func finish(_ result: Result<Success, any Error>) {
        let (continuation, timer) = state.withLock { state in
            state.isOver = true
            state.undo = nil
            return (state.continuation.take(), state.timer.take())
        }
        timer?.cancel()
        if let continuation {
            continuation.resume(with: result)
        } else if case .success(let success) = result {
            unwanted(success)
        }
    }

    /// Gives up waiting.
    func abandon(_ error: any Error) {
        let taken: State? = state.withLock { state in
            guard !state.isOver else { return nil }
            let taken = state
            state = State(isOver: true, isAbandoned: true)
            return taken
        }
        guard let taken else { return }
        taken.timer?.cancel()
        taken.continuation?.resume(throwing: error)
        taken.undo?()
    }
}
