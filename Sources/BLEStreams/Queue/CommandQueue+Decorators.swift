import Synchronization

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
    /// Before each command.
    case beforeEachCommand
}

extension CommandQueue {
    /// The same queue, but each command finds a link: it is made before where there is none.
    ///
    /// - Parameters:
    ///   - timeout: for how long to try to connect.
    ///   - after: what becomes of the link afterwards; it is ended after ten idle seconds unless said otherwise.
    public func connecting(
        timeout: Duration = .seconds(30),
        then after: LinkAfterCommand = .disconnectWhenIdle(.seconds(10))
    ) -> CommandQueue {
        decorated(by: Connecting(timeout: timeout, after: after))
    }

    /// The same queue, but each command finds that the device has let us in.
    ///
    /// - Parameters:
    ///   - rule: how often that is done; once for each connection unless said otherwise. One that failed is done again.
    ///   - command: the exchange that does it; when it fails the command isn't run, and fails with the same error.
    public func authorizing(
        _ rule: AuthorizationRule = .oncePerConnection,
        with command: some Command<Void>
    ) -> CommandQueue {
        decorated(by: Authorizing(rule: rule, command: command))
    }

    /// The same queue, but each command finds that the device has let us in, by a closure. See
    /// ``authorizing(_:with:)-(_,Command<Void>)``.
    public func authorizing(
        _ rule: AuthorizationRule = .oncePerConnection,
        with exchange: @escaping @Sendable (Link) async throws -> Void
    ) -> CommandQueue {
        authorizing(rule, with: CommandBlock.authorize(exchange))
    }
}

private struct Connecting: CommandDecorator {
    let timeout: Duration
    let after: LinkAfterCommand

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        if context.canConnect {
            if case .disconnectWhenIdle(let limit) = after { context.connection.idleLimit = limit }
        }
        do {
            try await context.connect(timeout: timeout)
            let output = try await command.run(in: context)
            if after == .disconnect { try await context.disconnect() }
            return output
        } catch {
            if after == .disconnect, context.canConnect { try? await context.disconnect() }
            throw error
        }
    }
}

private final class Authorizing<Exchange: Command<Void>>: CommandDecorator {
    private let rule: AuthorizationRule
    private let exchange: Exchange
    /// The number of the connection on which it was done.
    private let done = Mutex<Int?>(nil)

    init(rule: AuthorizationRule, command: Exchange) {
        self.rule = rule
        exchange = command
    }

    func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
        if context.isConnected, rule == .beforeEachCommand || done.withLock({ $0 != context.connection.number }) {
            try await authorize(in: context)
        }
        // Also for a command that loses its link and makes another one.
        context.afterConnecting(authorize)
        return try await command.run(in: context)
    }

    private func authorize(in context: CommandContext) async throws {
        try await exchange.run(in: context)
        done.withLock { $0 = context.connection.number }
    }
}
