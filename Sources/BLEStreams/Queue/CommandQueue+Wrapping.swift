import BLEProtocol
import Synchronization

extension CommandQueue {
    /// What happens to the link after a command of ``CommandQueue/connecting(timeout:then:)``; the last command
    /// decides.
    public enum LinkAfterCommand: Hashable, Sendable {
        /// It is ended once no command has run for this long.
        case disconnectWhenIdle(Duration)
        /// It is ended at once.
        case disconnect
        /// It stays up until the queue closes, or a command ends it.
        case stay
    }

    /// When the authorizing command runs.
    public enum AuthorizationRule: Hashable, Sendable {
        /// It runs before the first command on each link.
        case oncePerConnection
        /// It runs before each command, and before each attempt of a command that is retried.
        case beforeEachCommand
    }
}

extension CommandQueue {
    /// The same queue, but it connects before each command if there is no link.
    ///
    /// The same applies to each attempt of a command that is retried (``Command/retry(_:when:)``,
    /// ``retrying(_:when:)``): a failure to connect counts as a failed attempt, and a lost link is made again. The
    /// table of ``CommandQueue`` shows what a time limit covers.
    ///
    /// If the adapter can't be used now, the queue waits for it. A link may have other users, who have exclusive use of
    /// it in turn: a command of another queue, for example, or ``Link/exclusively(_:)``. The limit covers the wait for
    /// a turn on it; without connecting, only a deadline does. In a ``Session/queue``, whose commands use the session's
    /// link, this limits how long each attempt waits for the session, and for its turn on the link.
    ///
    /// ```swift
    /// let queue = queue.connecting(timeout: .seconds(5))
    /// print(try await queue.run(.read(.batteryLevel).retry(.exponential(attempts: 10))))
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: how long each attempt tries to connect, waiting for the adapter and for a turn on the link
    ///     included. After that the command fails with ``BLEError/Code/timedOut``, which says what it waited for, or
    ///     with the adapter's error and its remedy.
    ///   - after: what happens to the link afterwards; by default it is ended after ten idle seconds.
    public func connecting(
        timeout: Duration = .seconds(30),
        then after: CommandQueue.LinkAfterCommand = .disconnectWhenIdle(.seconds(10))
    ) -> CommandQueue {
        decorated(by: ConnectDecorator(timeout: timeout, after: after))
    }

    /// The same queue, but it runs a command that authorizes this program with the device before the others.
    ///
    /// Authorizing follows connecting, whichever of the two was added first, and runs again on each new link. In a
    /// queue that doesn't connect, it runs if there is a link, and on each link that a command makes.
    ///
    /// - Parameters:
    ///   - rule: how often to authorize; by default once for each connection. After a failure it runs again.
    ///   - command: the authorizing command. If it fails, the command behind it doesn't run and fails with the same
    ///     error, and a new link is ended, unless it is a session's.
    public func authorizing(
        _ rule: CommandQueue.AuthorizationRule = .oncePerConnection,
        with command: some Command<Void>
    ) -> CommandQueue {
        decorated(by: AuthorizationDecorator(authorization: Authorization(rule) { try await $0.run(command) }))
    }

    /// The same queue, but it runs a closure that authorizes this program with the device before the
    /// commands. See ``authorizing(_:with:)-(_,Command<()>)``.
    ///
    /// ```swift
    /// let (key, mode) = (BluetoothUUID(0xFFF1), BluetoothUUID(0xFFF2))
    /// let admitted = queue.connecting().authorizing { try await $0.write([0x4B, 0x45, 0x59], to: key) }
    /// try await admitted.run(.write([1], to: mode))
    /// ```
    public func authorizing(
        _ rule: CommandQueue.AuthorizationRule = .oncePerConnection,
        with exchange: @escaping @Sendable (Link) async throws -> Void
    ) -> CommandQueue {
        authorizing(rule, with: CommandBlock.authorize(exchange))
    }

    /// The same queue, but it tries each failed command again after a pause.
    ///
    /// This works as ``Command/retry(_:when:)`` does, for all commands of this handle. Connecting and authorizing are
    /// part of each attempt, in whatever order they were added.
    ///
    /// - Parameters:
    ///   - policy: how often to try again, and after what pause; by default five more times.
    ///   - isWorthwhile: whether an error is worth another attempt. Cancellation and final errors
    ///     (``BLEError/isFinal``) are never retried. The error of a lost link is not final where an attempt gets
    ///     another one.
    public func retrying(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandQueue {
        decorated(by: RetryDecorator(policy: policy, isWorthwhile: isWorthwhile))
    }

    /// The same queue, but it cancels each command that takes longer than the limit.
    ///
    /// The time counts from the command's turn; the deadline of ``run(_:priority:deadline:)-(C,_,_)`` includes the
    /// waiting. The limit covers what was added after it: `queue.timingOut(after: limit).connecting()` limits
    /// connecting and the command, `queue.connecting().timingOut(after: limit)` only the command. See the table of
    /// ``CommandQueue``.
    ///
    /// The command then fails with ``BLEError/Code/timedOut``, and the error has the command's name.
    ///
    /// - Parameter limit: how long each command may run.
    public func timingOut(after limit: Duration) -> CommandQueue { decorated(by: TimeLimitDecorator(limit: limit)) }
}

struct ConnectDecorator: CommandQueue.Decorator {
    let timeout: Duration
    let after: CommandQueue.LinkAfterCommand

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        context.work.state.withLock { $0.after = after }
        return try await context.work.preparing(.link(timeout: timeout)) { try await command.run(in: context) }
    }
}

private struct AuthorizationDecorator: CommandQueue.Decorator {
    let authorization: Authorization

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        try await context.work.preparing(.authorization(authorization)) { try await command.run(in: context) }
    }
}

struct RetryDecorator: CommandQueue.Decorator {
    let policy: RetryPolicy
    let isWorthwhile: @Sendable (any Error) -> Bool

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        try await context.work.retrying(policy, when: isWorthwhile) { try await command.run(in: context) }
    }
}

private struct TimeLimitDecorator: CommandQueue.Decorator {
    let limit: Duration

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        // The limit doesn't cover preparations that were added before it, unless a retry inside repeats them. It covers
        // connecting that was added after it, which in a session's queue is the wait for the session.
        if !beginsWithAttempts(command) { try await context.work.prepare(waitsForSession: !findsLink(command)) }
        return try await context.work.limiting(command, to: limit)
    }
}
