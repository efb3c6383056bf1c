import BLEProtocol

extension CommandBlock where Output == Void {
    /// Makes a link, unless there is one. See ``CommandContext/connect(timeout:)``.
    public static var connect: CommandBlock { connect(timeout: .seconds(30)) }

    /// Makes a link within a time limit, unless there is one.
    public static func connect(timeout: Duration) -> CommandBlock {
        CommandBlock("connect") { try await $0.connect(timeout: timeout) }
    }

    /// Ends the link, and waits until it is down.
    public static var disconnect: CommandBlock { CommandBlock("disconnect") { try await $0.disconnect() } }

    /// An exchange of yours by which the device lets you in: a key that is written, a challenge that is answered.
    ///
    /// It must throw when the device refuses. See ``CommandQueue/authorizing(_:with:)-(_,Command<()>)`` for having it
    /// done whenever it is needed.
    public static func authorize(_ exchange: @escaping @Sendable (Link) async throws -> Void) -> CommandBlock {
        CommandBlock("authorize") { try await exchange(try $0.link) }
    }
}
