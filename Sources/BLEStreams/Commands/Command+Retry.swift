import BLEProtocol
import BLERadio
import Synchronization

extension Command {
    /// The command, tried again when it fails, after a pause.
    ///
    /// In a queue that connects or authorizes each attempt begins with that: failures of it count as failed attempts,
    /// and a link that was lost is made again. The link stays with the command in the pauses. `.timeout(t).retry()` gives
    /// each attempt the time `t`, without its connecting; `.retry().timeout(t)` all of them together, with their
    /// connecting.
    ///
    /// ```swift
    /// let queue = queue.connecting(timeout: .seconds(5))
    /// print(try await queue.run(.read(.batteryLevel).retry(.exponential(attempts: 10))))
    /// ```
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause; five more times unless said otherwise.
    ///   - isWorthwhile: whether an error is one that trying again may cure. Cancellation and errors that can't change
    ///     (``BLEError/isFinal``) are never retried; a lost link is where an attempt asks for another one: in a queue that
    ///     connects, in one of a session, or where the command itself connects.
    public func retry(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: true) { context in
            try await context.retrying(policy, when: isWorthwhile) { try await context.attempt(self) }
        }
    }

    /// The command, ended when it takes longer.
    ///
    /// The time counts from when it begins, not while it waits in a queue: for that see
    /// ``CommandQueue/run(_:priority:deadline:)->C.Output``; nor while a queue connects for it, unless it is one that
    /// is retried. Its work is cancelled; the error comes when that has ended.
    ///
    /// - Throws (when run): ``BLEError/Code/timedOut`` with the name of the command.
    public func timeout(_ limit: Duration) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            try await context.limiting(self, to: limit)
        }
    }
}

extension CommandContext {
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
        return try await ending(on: timeline, limit: (limit, error)) { try await command.run(in: self) }
    }
}
