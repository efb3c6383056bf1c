public import Synchronization

// Everything here is inlinable: each read of a value waits here, and generic code of another module is slow otherwise.

/// Waits in an `async` function for a result that arrives through a closure.
///
/// - There is one result: the first of `start`'s result, the limit and the caller's cancellation.
/// - The caller returns immediately when it is cancelled or the limit has passed; `start`'s undo is then called once,
///   even if `start` returns it only afterwards.
/// - A success that arrives too late is passed to `unwanted`, and is not lost.
/// - No lock is held while any of the closures runs.
///
/// - Parameters:
///   - limit: how long to wait, and the error to throw then; `nil` if the work has its own limit.
///   - unwanted: what to do with a success that nobody waits for any more: a link that is up must be closed.
///   - start: begins the work and returns the closure that undoes it. The result may arrive before `start` has
///     returned.
@inlinable
package func reply<Success: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
    unwanted: @escaping @Sendable (Success) -> Void = { _ in },
    isolation actor: isolated (any Actor)? = #isolation,
    start: (@escaping @Sendable (Result<Success, any Error>) -> Void) -> @Sendable () -> Void
) async throws -> Success {
    let box = ReplyBox<Success, any Error>(unwanted: unwanted)
    return try await withTaskCancellationHandler {
        // Capturing it isolates the closure to the actor: otherwise a wait on the main actor takes two more thread
        // switches.
        _ = actor
        // Unchecked: the box ensures that there is one result.
        return try await withUnsafeThrowingContinuation { continuation in
            if let early = box.begin(continuation) { return continuation.resume(with: early) }
            let undo = start { result in box.finish(result) }
            let timer = limit.map { limit in
                timeline.schedule(after: limit.duration) { box.abandon(.failure(limit.error())) }
            }
            box.started(undo: undo, timer: timer)
        }
    } onCancel: {
        box.abandon(.failure(CancellationError()))
    }
}

/// Waits as `reply` does, with a limit that begins when the work does: it may have to wait for its turn first.
///
/// - Parameters:
///   - limit: how long the work may take, and the error to throw then.
///   - start: lines up for the work, and returns the closure that undoes it. It calls `begun` once, when the work
///     begins, and `finish` with the result; both may be called before `start` has returned.
package func reply<Success: Sendable>(
    on timeline: any Timeline,
    limitOnceBegun limit: (duration: Duration, error: @Sendable () -> any Error),
    isolation actor: isolated (any Actor)? = #isolation,
    start: (
        _ begun: @escaping @Sendable () -> Void,
        _ finish: @escaping @Sendable (Result<Success, any Error>) -> Void
    ) -> @Sendable () -> Void
) async throws -> Success {
    let box = ReplyBox<Success, any Error>(unwanted: { _ in })
    let begun: @Sendable () -> Void = {
        box.limit(by: timeline.schedule(after: limit.duration) { box.abandon(.failure(limit.error())) })
    }
    return try await withTaskCancellationHandler {
        // See above.
        _ = actor
        return try await withUnsafeThrowingContinuation { continuation in
            if let early = box.begin(continuation) { return continuation.resume(with: early) }
            let undo = start(begun, { result in box.finish(result) })
            box.started(undo: undo, timer: nil)
        }
    } onCancel: {
        box.abandon(.failure(CancellationError()))
    }
}

/// Waits as `reply` does, but ignores the caller's cancellation: for clean-up.
///
/// - Parameters:
///   - limit: how long to wait, and the result then; `nil` if the work has its own limit.
///   - start: begins the work and returns the closure that undoes it, which is called if the limit passes. The result
///     may arrive before `start` has returned; a second one is ignored.
package func undisturbedReply<Success: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, result: Success)? = nil,
    start: (@escaping @Sendable (Success) -> Void) -> @Sendable () -> Void
) async -> Success {
    let box = ReplyBox<Success, Never>(unwanted: { _ in })
    return await withUnsafeContinuation { continuation in
        _ = box.begin(continuation)
        let undo = start { result in box.finish(.success(result)) }
        let timer = limit.map { limit in
            timeline.schedule(after: limit.duration) { box.abandon(.success(limit.result)) }
        }
        box.started(undo: undo, timer: timer)
    }
}

/// The result of one wait; the first one counts.
@usableFromInline
final class ReplyBox<Success: Sendable, Failure: Error>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var continuation: UnsafeContinuation<Success, Failure>?
        @usableFromInline var undo: (@Sendable () -> Void)?
        @usableFromInline var timer: RadioActivity?
        /// The result of a wait that was abandoned: the work must be undone, even if it begins only afterwards.
        @usableFromInline var abandoned: Result<Success, Failure>?
        @usableFromInline var isOver = false

        @inlinable init() {}
    }

    // Set in the initializer: a default value is created without specialization, and looks up the metadata of all its
    // types.
    @usableFromInline let state: Mutex<State>
    @usableFromInline let unwanted: @Sendable (Success) -> Void

    @inlinable
    init(unwanted: @escaping @Sendable (Success) -> Void) {
        state = Mutex(State())
        self.unwanted = unwanted
    }

    /// Begins to wait. Returns the result if there is nothing to wait for: the task may already be cancelled.
    @inlinable
    func begin(_ continuation: UnsafeContinuation<Success, Failure>) -> Result<Success, Failure>? {
        state.withLock { state in
            if !state.isOver { state.continuation = continuation }
            return state.abandoned
        }
    }

    @inlinable
    func started(undo: @escaping @Sendable () -> Void, timer: RadioActivity?) {
        let (isOver, isAbandoned) = state.withLock { state in
            if !state.isOver {
                state.undo = undo
                // If none is passed, `limit(by:)` may have set one.
                if let timer { state.timer = timer }
            }
            return (state.isOver, state.abandoned != nil)
        }
        guard isOver else { return }
        timer?.cancel()
        if isAbandoned { undo() }
    }

    /// The work has begun, and has this limit.
    func limit(by timer: RadioActivity) {
        let isOver = state.withLock { state in
            if !state.isOver { state.timer = timer }
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    /// Hands over the result.
    @inlinable
    func finish(_ result: Result<Success, Failure>) {
        let (continuation, timer, undo) = state.withLock { state in
            state.isOver = true
            return (state.continuation.take(), state.timer.take(), state.undo.take())
        }
        timer?.cancel()
        // Released outside the lock: what it holds may be deallocated with it.
        withExtendedLifetime(undo) {}
        if let continuation {
            continuation.resume(with: result)
        } else if case .success(let success) = result {
            unwanted(success)
        }
    }

    /// Gives up waiting.
    @inlinable
    func abandon(_ result: Result<Success, Failure>) {
        let taken: State? = state.withLock { state in
            guard !state.isOver else { return nil }
            let taken = state
            state = State()
            state.isOver = true
            state.abandoned = result
            return taken
        }
        guard let taken else { return }
        taken.timer?.cancel()
        taken.continuation?.resume(with: result)
        taken.undo?()
    }
}
