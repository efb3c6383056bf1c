import BLERadio
import Synchronization

/// Commands that were enqueued, on their way to the scope that runs them.
final class QueueJobs: Sendable {
    struct Job: Sendable {
        /// The command's number in its queue.
        let id: TurnOrder.ID
        /// Runs the command when its turn has come.
        let run: @Sendable () async -> Void
        /// Ends the command without running it.
        let abandon: @Sendable () -> Void
    }

    private struct State {
        var jobs = Ring<Job>()
        var waiter: (@Sendable (Result<Job?, any Error>) -> Void)?
        var isOver = false
    }

    private let timeline: any Timeline
    private let state = Mutex(State())

    init(timeline: any Timeline) { self.timeline = timeline }

    /// Accepts jobs from now on: somebody will take them.
    func open() { state.withLock { $0.isOver = false } }

    /// Hands over a job; `false` if nobody will take it.
    func add(_ job: Job) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, (@Sendable (Result<Job?, any Error>) -> Void)?) in
            guard !state.isOver else { return (false, nil) }
            if let waiter = state.waiter.take() { return (true, waiter) }
            state.jobs.append(job)
            return (true, nil)
        }
        waiter?(.success(job))
        return isTaken
    }

    /// Takes a job back; `false` if somebody has taken it, or it was abandoned.
    func withdraw(_ id: TurnOrder.ID) -> Bool {
        // Released outside the lock: what it holds may be deallocated with it.
        let job: Job? = state.withLock { state in
            let jobs = state.jobs.elements
            guard let job = jobs.first(where: { $0.id == id }) else { return nil }
            state.jobs = Ring()
            for other in jobs where other.id != id { state.jobs.append(other) }
            return job
        }
        return job != nil
    }

    /// The next job, in the order of arrival; `nil` once there are no more to come.
    ///
    /// - Throws: `CancellationError`.
    func next() async throws -> Job? {
        let unwanted: @Sendable (Job?) -> Void = { $0?.abandon() }
        return try await reply(on: timeline, unwanted: unwanted) { finish in
            let now: Result<Job?, any Error>? = state.withLock { state in
                if let job = state.jobs.popFirst() { return .success(job) }
                if state.isOver { return .success(nil) }
                state.waiter = finish
                return nil
            }
            if let now { finish(now) }
            return { self.state.withLock { $0.waiter = nil } }
        }
    }

    /// Accepts no more jobs.
    func finish() {
        let waiter = state.withLock { state in
            state.isOver = true
            return state.waiter.take()
        }
        waiter?(.success(nil))
    }

    /// Accepts no more jobs, and returns those left.
    func close() -> [Job] {
        finish()
        return state.withLock { state in
            defer { state.jobs = Ring() }
            return state.jobs.elements.map { $0 }
        }
    }
}
