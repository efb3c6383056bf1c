import BLEProtocol
import BLERadio
import Synchronization

extension Command {
    /// The same command, tried again after a pause when it fails.
    ///
    /// Each attempt runs the whole command. In a queue that connects or authorizes, it begins with that, so a failure
    /// to connect counts as a failed attempt, and a lost link is made again. The command keeps the link during the
    /// pauses. `.timeout(t).retry()` limits each attempt to `t`, not counting connecting; `.retry().timeout(t)` limits
    /// all of them together, connecting included.
    ///
    /// The policy counts every failure of the run, whatever has succeeded in between; its `stableAfter` has no effect
    /// here. A stream, by contrast, restarts its count once it has worked for that long: ``BLEStream/retry(_:when:)``.
    ///
    /// ```swift
    /// let queue = queue.connecting(timeout: .seconds(5))
    /// print(try await queue.run(.read(.batteryLevel).retry(.exponential(attempts: 10))))
    /// ```
    ///
    /// - Parameters:
    ///   - policy: how often to try again, and after what pause; by default five more times.
    ///   - isWorthwhile: whether an error is worth another attempt. Cancellation and final errors
    ///     (``BLEError/isFinal``) are never retried. A lost link, also one that was closed because the device left a
    ///     request unanswered for 30 s, is retried if an attempt gets another one: in a queue that connects, in a
    ///     session's queue, or if the command itself connects. The closure gets its error as one that isn't final.
    public func retry(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: true) { context in
            let work = context.work
            return try await work.retrying(policy, when: isWorthwhile) { try await work.attempt(self) }
        }
    }

    /// The same command, cancelled if it takes longer than the limit.
    ///
    /// The time counts from the command's beginning. It includes neither the wait in a queue, which the deadline of
    /// ``CommandQueue/run(_:priority:deadline:)->C.Output`` limits, nor the time in which the queue connects for the
    /// command, unless the limited command is a retried one. The error is thrown once the command's work has ended.
    ///
    /// - Throws (when run): ``BLEError/Code/timedOut`` with the name of the command.
    public func timeout(_ limit: Duration) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            try await context.work.limiting(self, to: limit)
        }
    }
}

extension CommandWork {
    /// Runs the closure until it succeeds, as often as the policy allows.
    func retrying<Output>(
        _ policy: RetryPolicy,
        when isWorthwhile: @Sendable (any Error) -> Bool,
        _ attempt: () async throws -> Output
    ) async throws -> Output {
        var failures = 0
        while true {
            let requests = state.withLock { $0.requests }
            do {
                return try await attempt()
            } catch {
                failures += 1
                // The end of a link is final for that link only, and another attempt gets another one.
                guard isWorthRetrying(error, since: requests),
                    isWorthwhile((error as? BLEError)?.forNextLink ?? error),
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Runs the command, and cancels it when it takes longer than the limit.
    func limiting<C: Command>(_ command: C, to limit: Duration) async throws -> C.Output {
        let (name, object) = (command.name, "on \(connection.object)")
        let error: @Sendable () -> any Error = { [connection] in
            BLEError.timedOut(name, object: object, after: limit, waitingFor: connection.delay ?? .endOfCommand)
        }
        return try await ending(on: timeline, limit: (limit, error)) { try await self.run(command) }
    }
}
