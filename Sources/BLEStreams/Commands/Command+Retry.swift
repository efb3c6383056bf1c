import BLEProtocol
import BLERadio
import Synchronization

extension Command {
    /// The command, tried again when it fails, after a pause.
    ///
    /// Each attempt begins the command from its beginning. In a queue that connects or authorizes it begins with that, so a
    /// failure to connect counts as a failed attempt, and a lost link is made again. The command keeps the link during the
    /// pauses. `.timeout(t).retry()` gives each attempt the time `t`, not counting its connecting; `.retry().timeout(t)`
    /// gives it to all of them together, with their connecting.
    ///
    /// The policy counts every failure of the run, whatever has succeeded in between; its `stableAfter` plays no
    /// part here. A stream, by contrast, counts afresh once it has worked for that long: ``BLEStream/retry(_:when:)``.
    ///
    /// ```swift
    /// let queue = queue.connecting(timeout: .seconds(5))
    /// print(try await queue.run(.read(.batteryLevel).retry(.exponential(attempts: 10))))
    /// ```
    ///
    /// - Parameters:
    ///   - policy: how often to try again, and after what pause; by default five more times.
    ///   - isWorthwhile: whether trying again may cure an error. Cancellation and errors that can't change
    ///     (``BLEError/isFinal``) are never retried. A lost link is retried where an attempt gets another one: in a queue that
    ///     connects, in a session's queue, or where the command itself connects.
    public func retry(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: true) { context in
            let work = context.work
            return try await work.retrying(policy, when: isWorthwhile) { try await work.attempt(self) }
        }
    }

    /// The command, cancelled if it takes longer than the limit.
    ///
    /// The time counts from when it begins. It doesn't count while the command waits in a queue, for which there is the
    /// deadline of ``CommandQueue/run(_:priority:deadline:)->C.Output``, nor while the queue connects for it, unless it is one that is
    /// retried. The error is thrown once the command's work has ended.
    ///
    /// - Throws (when run): ``BLEError/Code/timedOut`` with the name of the command.
    public func timeout(_ limit: Duration) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            try await context.work.limiting(self, to: limit)
        }
    }
}

extension CommandWork {
    /// Runs the closure until it succeeds, as often as the policy says.
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
                guard isWorthRetrying(error, since: requests), isWorthwhile(error),
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Runs the command, and ends it when it takes longer.
    func limiting<C: Command>(_ command: C, to limit: Duration) async throws -> C.Output {
        let (name, object) = (command.name, "on \(connection.object)")
        let error: @Sendable () -> any Error = {
            BLEError.timedOut(name, object: object, after: limit, waitingFor: "the command did not end")
        }
        return try await ending(on: timeline, limit: (limit, error)) { try await self.run(command) }
    }
}
