import BLEProtocol
import Synchronization

extension CommandQueue {
    /// What becomes of the link after a command of ``CommandQueue/connecting(timeout:then:)``.
    public enum LinkAfterCommand: Hashable, Sendable {
        /// It is ended when nothing has been done for so long.
        case disconnectWhenIdle(Duration)
        /// It is ended at once.
        case disconnect
        /// It stays until the queue is over, or a command ends it.
        case stay
    }

    /// When a command is preceded by the authorizing one.
    public enum AuthorizationRule: Hashable, Sendable {
        /// Before the first command on each link.
        case oncePerConnection
        /// Before each command, and before each attempt of one that is retried.
        case beforeEachCommand
    }
}

extension CommandQueue {
    /// The same queue, but it connects before each command, unless there is a link.
    ///
    /// That holds at each attempt: of a command that is retried (``Command/retry(_:when:)``, ``retrying(_:when:)``) the
    /// attempts that fail to connect count and are tried again, and a link that was lost is made again. What a time limit
    /// covers is in the table of ``CommandQueue``.
    ///
    /// An adapter that can't be used now is waited for. In a ``Session/queue``, whose commands find a link by themselves,
    /// this limits how long each attempt waits for the session.
    ///
    /// ```swift
    /// let queue = queue.connecting(timeout: .seconds(5))
    /// print(try await queue.run(.read(.batteryLevel).retry(.exponential(attempts: 10))))
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: for how long to try to connect at each attempt, waiting for the adapter included. Then the command
    ///     fails with ``BLEError/Code/timedOut``, or with the adapter's error and what to do about it.
    ///   - after: what becomes of the link afterwards; by default it is ended after ten idle seconds.
    public func connecting(
        timeout: Duration = .seconds(30),
        then after: CommandQueue.LinkAfterCommand = .disconnectWhenIdle(.seconds(10))
    ) -> CommandQueue {
        decorated(by: ConnectDecorator(timeout: timeout, after: after))
    }

    /// The same queue, but an exchange by which the device admits us comes before the commands.
    ///
    /// It follows connecting, whichever of the two was added first, and is done again on each new link. In a queue that
    /// doesn't connect, it is done if there is a link, and on each link that a command makes.
    ///
    /// - Parameters:
    ///   - rule: how often it is done; by default once for each connection. One that failed is done again.
    ///   - command: the exchange. If it fails, the command isn't run and fails with the same error, and a link that was new
    ///     is ended.
    public func authorizing(
        _ rule: CommandQueue.AuthorizationRule = .oncePerConnection,
        with command: some Command<Void>
    ) -> CommandQueue {
        decorated(by: AuthorizationDecorator(authorization: Authorization(rule) { try await $0.run(command) }))
    }

    /// The same queue, but a closure by which the device admits us comes before the commands. See
    /// ``authorizing(_:with:)-(_,Command<()>)``.
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

    /// The same queue, but each command is tried again when it fails, after a pause.
    ///
    /// Connecting and authorizing are part of each attempt, in whatever order they were added. As
    /// ``Command/retry(_:when:)``, for all commands of this handle.
    ///
    /// - Parameters:
    ///   - policy: how often to try again, and after what pause; by default five more times.
    ///   - isWorthwhile: whether trying again may cure an error. Cancellation and errors that can't change
    ///     (``BLEError/isFinal``) are never retried.
    public func retrying(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> CommandQueue {
        decorated(by: RetryDecorator(policy: policy, isWorthwhile: isWorthwhile))
    }

    /// The same queue, but each command is cancelled if it takes longer than the limit.
    ///
    /// The time counts from when its turn has come; the deadline of ``run(_:priority:deadline:)-(C,_,_)`` counts the
    /// waiting too. It covers what was added behind: `queue.timingOut(after: limit).connecting()` the connecting too,
    /// `queue.connecting().timingOut(after: limit)` only the command. See the table of ``CommandQueue``.
    ///
    /// The command then fails with ``BLEError/Code/timedOut``, under its own name.
    ///
    /// - Parameter limit: how long each command may take.
    public func timingOut(after limit: Duration) -> CommandQueue { decorated(by: TimeLimitDecorator(limit: limit)) }
}

private struct ConnectDecorator: CommandQueue.Decorator {
    let timeout: Duration
    let after: CommandQueue.LinkAfterCommand

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        if case .disconnectWhenIdle(let limit) = after { context.work.connection.idleLimit = limit }
        if after == .disconnect { context.work.state.withLock { $0.disconnects = true } }
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
        // What was added before is not part of what is limited; unless it is tried again within.
        if !beginsWithAttempts(command) { try await context.work.prepare() }
        return try await context.work.limiting(command, to: limit)
    }
}
