extension CommandQueue {
    /// Adds work to each command of a queue: before it, after it, or both.
    ///
    /// ```swift
    /// struct Logging: CommandQueue.Decorator {
    ///     func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
    ///         print("begin \(command.name)")
    ///         return try await command.run(in: context)
    ///     }
    /// }
    /// try await queue.decorated(by: Logging()).run(.read(.batteryLevel))
    /// ```
    ///
    /// A decorator may run the command several times. Each run begins with what prepares the link in this queue:
    /// ``CommandQueue/connecting(timeout:then:)``, ``CommandQueue/authorizing(_:with:)-(_,Command<()>)``.
    public protocol Decorator: Sendable {
        /// Runs the command, and the added work around it.
        func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output
    }
}

extension CommandQueue {
    /// The same queue, with a decorator around each command that this handle runs.
    ///
    /// The decorator added first is outermost: a time limit covers those added after it.
    public func decorated(by decorator: some CommandQueue.Decorator) -> CommandQueue {
        var queue = self
        queue.decorators.append(decorator)
        return queue
    }
}

/// A command inside its remaining decorators.
struct DecoratedCommand<Base: Command>: Command, SelfPreparing {
    private let base: Base
    private let decorators: ArraySlice<any CommandQueue.Decorator>

    var name: String { base.name }

    var beginsWithAttempts: Bool {
        decorators.contains { $0 is RetryDecorator } || BLEStreams.beginsWithAttempts(base)
    }

    var findsLink: Bool { decorators.contains { $0 is ConnectDecorator } }

    init(_ base: Base, _ decorators: ArraySlice<any CommandQueue.Decorator>) {
        self.base = base
        self.decorators = decorators
    }

    func run(in context: CommandContext) async throws -> Base.Output {
        guard let outermost = decorators.first else { return try await context.work.attempt(base) }
        return try await outermost.run(DecoratedCommand(base, decorators.dropFirst()), in: context)
    }
}
