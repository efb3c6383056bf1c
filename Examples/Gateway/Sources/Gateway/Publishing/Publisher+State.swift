extension Publisher {
    /// Sets the state of a peripheral.
    ///
    /// - Parameters:
    ///   - state: what its session does, in words, or that it has none.
    ///   - label: its name in topics.
    ///   - isReady: whether it sends its values, and takes commands.
    ///   - cause: why it is in this state.
    ///   - remedy: what a person should do.
    func tell(
        _ state: String,
        of label: String,
        isReady: Bool = false,
        cause: String? = nil,
        remedy: String? = nil
    ) {
        retain(
            "state/\(label)",
            JSONText.object(
                ("peripheral", .string(label)),
                ("state", .string(state)),
                ("ready", .bool(isReady)),
                ("cause", .text(cause)),
                ("remedy", .text(remedy))
            ).octets
        )
    }

    /// Says of peripherals that they have no session, before one can begin: at the broker, they may still be as a
    /// gateway that was killed has left them, and a session begins only when the adapter is there, or with a lease.
    func tellUnfollowed(_ peripherals: [Configuration.Peripheral], isSharing: Bool) {
        for peripheral in peripherals { tell(isSharing ? "not held" : "not followed", of: peripheral.label) }
    }
}
