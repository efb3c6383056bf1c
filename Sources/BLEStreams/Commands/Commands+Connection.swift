extension CommandBlock where Output == Void {
    /// Connects if no link is up. See ``CommandContext/connect(timeout:)``.
    public static var connect: CommandBlock { connect(timeout: .seconds(30)) }

    /// Connects within a time limit if no link is up.
    public static func connect(timeout: Duration) -> CommandBlock {
        CommandBlock("connect") { try await $0.connect(timeout: timeout) }
    }

    /// Ends the link, and waits until it is down.
    public static var disconnect: CommandBlock { CommandBlock("disconnect") { try await $0.disconnect() } }

    /// The device's own exchange that authorizes you: you write a key, for example, or answer a challenge.
    ///
    /// The closure must throw if the device refuses. ``CommandQueue/authorizing(_:with:)-(_,Command<()>)`` runs it
    /// whenever it is needed.
    public static func authorize(_ exchange: @escaping @Sendable (Link) async throws -> Void) -> CommandBlock {
        CommandBlock("authorize") { try await exchange(try $0.link) }
    }
}
