import BLEProtocol
import BLERadio

extension Command {
    /// The command, tried again when it fails, after a pause.
    ///
    /// The link stays with the command in the pauses. `.timeout(t).retry()` gives each attempt the time `t`,
    /// `.retry().timeout(t)` all of them together.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause; five more times unless said otherwise.
    ///   - isWorthwhile: whether an error is one that trying again may cure. Cancellation and errors that can't change
    ///     (``BLEError/isFinal``) are never retried; a lost link is where the command can make another one.
    public func retry(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandBlock<Output> {
        let command = RetriedCommand(base: self, policy: policy, isWorthwhile: isWorthwhile)
        return CommandBlock(name) { try await command.run(in: $0) }
    }

    /// The command, ended when it takes longer.
    ///
    /// The time counts from when it begins, not while it waits in a queue: for that see
    /// ``CommandQueue/run(_:priority:deadline:)``. Its work is cancelled; the error comes when that has ended.
    ///
    /// - Throws (when run): ``BLEError/Code/timedOut`` with the name of the command.
    public func timeout(_ limit: Duration) -> CommandBlock<Output> {
        let command = TimedCommand(base: self, limit: limit)
        return CommandBlock(name) { try await command.run(in: $0) }
    }
}

private struct RetriedCommand<Base: Command>: Sendable {
    let base: Base
    let policy: RetryPolicy
    let isWorthwhile: @Sendable (any Error) -> Bool

    func run(in context: CommandContext) async throws -> Base.Output {
        var failures = 0
        while true {
            do {
                return try await base.run(in: context)
            } catch {
                failures += 1
                guard context.isWorthRetrying(error), isWorthwhile(error),
                    let delay = policy.delay(afterFailure: failures, random: context.timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: context.timeline)
            }
        }
    }
}

private struct TimedCommand<Base: Command>: Sendable {
    let base: Base
    let limit: Duration

    func run(in context: CommandContext) async throws -> Base.Output {
        let (base, limit, object) = (base, limit, "on \(context.peripheral)")
        let error: @Sendable () -> any Error = {
            BLEError.timedOut(base.name, object: object, after: limit, waitingFor: "the command did not end")
        }
        return try await ending(on: context.timeline, limit: (limit, error)) { try await base.run(in: context) }
    }
}
