public import BLEProtocol

extension CommandContext {
    /// What a command hears of, in order, with ``CommandContext/next(timeout:)``.
    public enum Event: Sendable {
        /// The adapter listens for advertisements, whoever asked for it: the command's own
        /// ``CommandContext/find(within:)``, a scan of the program, a session's search. Also sent at the beginning if
        /// it listens already.
        case scanStarted
        /// The command's device was heard; sent once for each scan.
        case discovered(Discovery)
        /// The adapter has stopped listening.
        case scanStopped
        /// A link is up. Also sent at the beginning if one is up already.
        case connected
        /// The link is ready for writes: on each new link, after ``connected``, once the queue's authorizing is done.
        case readyToWrite
        /// A characteristic that the command subscribes to has sent a value; it is named as in
        /// ``CommandContext/subscribe(to:indications:)``.
        case received(CharacteristicValue, from: CharacteristicReference)
        /// The link is lost; ``CommandContext/reconnect(_:adapterWithin:)`` makes a new one.
        case linkLost(BLEError)
        /// The adapter can no longer be used: it was switched off, blocked or removed. Also sent at the beginning if it
        /// can't be used.
        case adapterOff
        /// The adapter can be used again.
        case adapterOn
    }
}
