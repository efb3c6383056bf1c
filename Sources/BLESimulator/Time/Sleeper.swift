import Synchronization

/// A task that sleeps: woken once, by its timer or by cancellation, whichever comes first.
final class Sleeper: Sendable {
    private enum State {
        case awake
        case asleep(CheckedContinuation<Void, any Error>)
        case woken((any Error)?)
    }

    private let state = Mutex(State.awake)

    /// Takes the task's continuation, and resumes it immediately if the task was already woken.
    func sleep(_ continuation: CheckedContinuation<Void, any Error>) {
        let early: State? = state.withLock { state in
            if case .woken = state { return state }
            state = .asleep(continuation)
            return nil
        }
        if case .woken(let error) = early { Self.resume(continuation, error) }
    }

    /// Wakes the task; does nothing if it was woken before.
    func wake(throwing error: (any Error)? = nil) {
        let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
            switch state {
            case .awake:
                state = .woken(error)
                return nil
            case .asleep(let continuation):
                state = .woken(error)
                return continuation
            case .woken:
                return nil
            }
        }
        if let continuation { Self.resume(continuation, error) }
    }

    private static func resume(_ continuation: CheckedContinuation<Void, any Error>, _ error: (any Error)?) {
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }
}
