extension Command {
    /// The command, and another one behind it, with the link for both; the result is the second one's.
    ///
    /// When the first one fails the second isn't run.
    public func then<Next: Command>(_ next: Next) -> CommandBlock<Next.Output> {
        CommandBlock("\(name), \(next.name)") { context in
            _ = try await self.run(in: context)
            return try await next.run(in: context)
        }
    }

    /// The command, and another one that is made from its result, with the link for both.
    public func then<Next: Command>(
        _ next: @escaping @Sendable (Output) throws -> Next
    ) -> CommandBlock<Next.Output> {
        CommandBlock(name) { context in
            try await next(try await self.run(in: context)).run(in: context)
        }
    }

    /// The command, and a ready-made one behind it. See ``then(_:)-(C)``.
    public func then<Result>(_ next: CommandBlock<Result>) -> CommandBlock<Result> {
        CommandBlock("\(name), \(next.name)") { context in
            _ = try await self.run(in: context)
            return try await next.run(in: context)
        }
    }

    /// The command under another name.
    public func named(_ name: String) -> CommandBlock<Output> {
        CommandBlock(name) { try await self.run(in: $0) }
    }
}

/// A command made of a closure.
public struct CommandBlock<Output: Sendable>: Command {
    public let name: String
    private let body: @Sendable (CommandContext) async throws -> Output

    /// Names a closure that gets the whole context: it may connect, disconnect and tell its progress.
    public init(_ name: String, _ body: @escaping @Sendable (CommandContext) async throws -> Output) {
        self.name = name
        self.body = body
    }

    public func run(in context: CommandContext) async throws -> Output { try await body(context) }
}

extension CommandBlock {
    /// Several steps with the link, as one command.
    ///
    /// ```swift
    /// let value = try await queue.run(.block("measure") { link in
    ///     try await link.write([1], to: .trigger)
    ///     return try await link.read(.result)
    /// })
    /// ```
    public static func block(
        _ name: String,
        _ body: @escaping @Sendable (Link) async throws -> Output
    ) -> CommandBlock {
        CommandBlock(name) { try await body(try $0.link) }
    }
}

/// Several commands, one after the other, with the link for all of them; the first failure ends the group.
///
/// ```swift
/// let setUp = CommandGroup("set up", .connect, .authorize { try await $0.write(key, to: .key) }, .write([1], to: .mode))
/// let check = CommandGroup("check") {
///     setUp
///     for uuid in sensors { CommandBlock.read(uuid) }
/// }
/// ```
public struct CommandGroup: Command {
    public let name: String
    private let steps: [Step]

    /// One command of a group.
    public struct Step: Sendable {
        fileprivate let run: @Sendable (CommandContext) async throws -> Void
    }

    /// Lists ready-made commands.
    public init(_ name: String = "group", _ commands: CommandBlock<Void>...) {
        self.name = name
        steps = commands.map { command in Step { try await command.run(in: $0) } }
    }

    /// Lists commands of any kind; their results are dropped.
    public init(_ name: String = "group", @Builder _ steps: () -> [Step]) {
        self.name = name
        self.steps = steps()
    }

    public func run(in context: CommandContext) async throws {
        for step in steps { try await step.run(context) }
    }

    /// Builds the list of a group.
    @resultBuilder public enum Builder {
        public static func buildExpression(_ command: some Command) -> [Step] {
            [Step { _ = try await command.run(in: $0) }]
        }
        public static func buildBlock(_ parts: [Step]...) -> [Step] { parts.flatMap { $0 } }
        public static func buildOptional(_ part: [Step]?) -> [Step] { part ?? [] }
        public static func buildEither(first: [Step]) -> [Step] { first }
        public static func buildEither(second: [Step]) -> [Step] { second }
        public static func buildArray(_ parts: [[Step]]) -> [Step] { parts.flatMap { $0 } }
    }
}
