extension Command {
    /// This command, then another one, with exclusive use of the link for both; the result is the second one's.
    ///
    /// If the first one fails, the second isn't run.
    public func then<Next: Command>(_ next: Next) -> CommandBlock<Next.Output> {
        CommandBlock("\(name), \(next.name)", beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            _ = try await context.work.run(self)
            return try await context.work.run(next)
        }
    }

    /// This command, then another one made from its result, with exclusive use of the link for both.
    public func then<Next: Command>(
        _ next: @escaping @Sendable (Output) throws -> Next
    ) -> CommandBlock<Next.Output> {
        CommandBlock(name, beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            try await context.work.run(try next(try await context.work.run(self)))
        }
    }

    /// This command, then a ready-made one. See ``then(_:)-(Next)``.
    public func then<Result>(_ next: CommandBlock<Result>) -> CommandBlock<Result> {
        CommandBlock("\(name), \(next.name)", beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { context in
            _ = try await context.work.run(self)
            return try await context.work.run(next)
        }
    }

    /// The same command under another name.
    public func named(_ name: String) -> CommandBlock<Output> {
        CommandBlock(name, beginsWithAttempts: BLEStreams.beginsWithAttempts(self)) { try await self.run(in: $0) }
    }
}

/// A command made of a closure.
public struct CommandBlock<Output: Sendable>: Command, SelfPreparing {
    public let name: String
    let beginsWithAttempts: Bool
    private let body: @Sendable (CommandContext) async throws -> Output

    /// Makes a command from a closure that gets the whole context: it may connect, disconnect and report progress.
    public init(_ name: String, _ body: @escaping @Sendable (CommandContext) async throws -> Output) {
        self.init(name, beginsWithAttempts: false, body)
    }

    init(
        _ name: String,
        beginsWithAttempts: Bool,
        _ body: @escaping @Sendable (CommandContext) async throws -> Output
    ) {
        self.name = name
        self.beginsWithAttempts = beginsWithAttempts
        self.body = body
    }

    public func run(in context: CommandContext) async throws -> Output { try await body(context) }
}

extension CommandBlock {
    /// Several steps with the link, as one command.
    ///
    /// ```swift
    /// let (trigger, result) = (BluetoothUUID(0xFFF1), BluetoothUUID(0xFFF2))
    /// let measure = CommandBlock.block("measure") { link in
    ///     try await link.write([1], to: trigger)
    ///     return try await link.read(result)
    /// }
    /// print(try await queue.run(measure))
    /// ```
    public static func block(
        _ name: String,
        _ body: @escaping @Sendable (Link) async throws -> Output
    ) -> CommandBlock {
        CommandBlock(name) { try await body(try $0.link) }
    }
}
