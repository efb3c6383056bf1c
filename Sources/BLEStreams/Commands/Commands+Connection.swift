import BLEProtocol

extension CommandBlock where Output == Void {
    /// Connects, unless there is a link. See ``CommandContext/connect(timeout:)``.
    public static var connect: CommandBlock { connect(timeout: .seconds(30)) }

    /// Connects within a time limit, unless there is a link.
    public static func connect(timeout: Duration) -> CommandBlock {
        CommandBlock("connect") { try await $0.connect(timeout: timeout) }
    }

    /// Ends the link, and waits until it is down.
    public static var disconnect: CommandBlock { CommandBlock("disconnect") { try await $0.disconnect() } }

    /// An exchange of the device's own by which it admits you: you write a key, or answer a challenge.
    ///
    /// It must throw if the device refuses. ``CommandQueue/authorizing(_:with:)-(_,Command<()>)`` does it whenever it is
    /// needed.
    public static func authorize(_ exchange: @escaping @Sendable (Link) async throws -> Void) -> CommandBlock {
        CommandBlock("authorize") { try await exchange(try $0.link) }
    }
}
