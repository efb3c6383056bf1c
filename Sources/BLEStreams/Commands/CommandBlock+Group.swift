public import BLEProtocol

extension CommandBlock where Output == Void {
    /// Several ready-made commands in sequence, with exclusive use of the link; the first failure ends the group.
    ///
    /// ```swift
    /// let (key, mode) = (BluetoothUUID(0xFFF1), BluetoothUUID(0xFFF2))
    /// let setUp = CommandBlock.group(
    ///     "set up", .connect, .authorize { try await $0.write([0x4B, 0x45, 0x59], to: key) }, .write([1], to: mode)
    /// )
    /// let check = CommandBlock.group("check") {
    ///     setUp
    ///     for sensor in [BluetoothUUID(0xFFF3), BluetoothUUID(0xFFF4)] { CommandBlock.read(sensor).retry() }
    /// }
    /// try await queue.run(check)
    /// ```
    ///
    /// In a queue that connects, a member with a retry gets a link for each attempt; the others use the link that is up
    /// when their turn comes.
    public static func group(_ name: String = "group", _ commands: CommandBlock<Void>...) -> CommandBlock {
        CommandBlock(name, commands.map { CommandStep($0) })
    }

    /// Several commands of any kind in sequence; their results are discarded. See
    /// ``group(_:_:)-(_,CommandBlock<Void>...)``.
    public static func group(
        _ name: String = "group",
        @ListBuilder<CommandStep> _ steps: () -> [CommandStep]
    ) -> CommandBlock { CommandBlock(name, steps()) }

    private init(_ name: String, _ steps: [CommandStep]) {
        self.init(name, beginsWithAttempts: steps.first?.beginsWithAttempts ?? false) { context in
            for step in steps { try await step.run(context.work) }
        }
    }
}

/// One command of a group.
public struct CommandStep: Sendable {
    fileprivate let beginsWithAttempts: Bool
    fileprivate let run: @Sendable (CommandWork) async throws -> Void

    fileprivate init(_ command: some Command) {
        beginsWithAttempts = BLEStreams.beginsWithAttempts(command)
        run = { _ = try await $0.run(command) }
    }
}

extension ListBuilder where Element == CommandStep {
    /// A command of a group.
    public static func buildExpression(_ command: some Command) -> [CommandStep] { [CommandStep(command)] }
}
