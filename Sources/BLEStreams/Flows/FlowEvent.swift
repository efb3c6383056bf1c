public import BLEProtocol

/// What a flow hears of, in order, by ``FlowChannel/next(timeout:)``.
public enum FlowEvent: Sendable {
    /// The adapter listens for advertisements, for whomever: the flow's own ``FlowChannel/find(within:)``, a scan of the
    /// program, a session's search. Also at the beginning, where it does so already.
    case scanStarted
    /// The flow's device was heard; once for each scan.
    case discovered(Discovery)
    /// The adapter listens no more.
    case scanStopped
    /// There is a link; also at the beginning, where there is one already.
    case connected
    /// What is written now goes out: on each new link behind ``connected``, when the queue's authorizing is done.
    case readyToWrite
    /// A characteristic that the flow subscribes to has sent a value.
    case received(CharacteristicValue, from: BluetoothUUID)
    /// The link is lost; ``FlowChannel/reconnect(_:adapterWithin:)`` makes another one.
    case linkLost(BLEError)
    /// The adapter can't be used any more: it was switched off, blocked or taken away. Also at the beginning, where it
    /// can't be used.
    case adapterOff
    /// The adapter can be used again.
    case adapterOn
}
