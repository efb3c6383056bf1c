public import BLEProtocol

extension CommandContext {
    /// What a command hears of, in order, by ``CommandContext/next(timeout:)``.
    public enum Event: Sendable {
        /// The adapter listens for advertisements, for whomever: the command's own ``CommandContext/find(within:)``, a scan
        /// of the program, a session's search. Also at the beginning, where it does so already.
        case scanStarted
        /// The command's device was heard; once for each scan.
        case discovered(Discovery)
        /// The adapter listens no more.
        case scanStopped
        /// There is a link; also at the beginning, where there is one already.
        case connected
        /// What is written now goes out: on each new link behind ``connected``, when the queue's authorizing is done.
        case readyToWrite
        /// A characteristic that the command subscribes to has sent a value; it is named as it was for
        /// ``CommandContext/subscribe(to:indications:)``.
        case received(CharacteristicValue, from: CharacteristicReference)
        /// The link is lost; ``CommandContext/reconnect(_:adapterWithin:)`` makes another one.
        case linkLost(BLEError)
        /// The adapter can't be used any more: it was switched off, blocked or taken away. Also at the beginning, where it
        /// can't be used.
        case adapterOff
        /// The adapter can be used again.
        case adapterOn
    }
}
