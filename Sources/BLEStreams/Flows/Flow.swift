public import BLEProtocol

/// A longer piece of work with a device that has phases and tells its progress: pairing, synchronization, an update.
///
/// A flow is a ``Command``: a queue runs it, with the link for itself. A ``FlowCoordinator`` lets one flow be active at a
/// time. Flows hear of few things, all of them high up: that the device is ready, that a value came, that the link was
/// lost, that the adapter was switched off. Ours are written with the API that yours get:
///
/// ```swift
/// struct Identify: Flow {
///     func run(on channel: FlowChannel) async throws -> String? {
///         channel.begin("identify")
///         return try await channel.resuming { try await channel.read(.serialNumber).text }
///     }
/// }
/// ```
public protocol Flow<Output>: Command {
    // Again, so that it is inferred from this protocol's function.
    associatedtype Output

    /// Does the work.
    ///
    /// - Parameter channel: the way to the device; of no use after the flow has ended or was replaced.
    func run(on channel: FlowChannel) async throws -> Output
}

extension Flow {
    public func run(in context: CommandContext) async throws -> Output {
        let channel = FlowChannel(context)
        defer { channel.close(CancellationError()) }
        return try await run(on: channel)
    }
}

/// What a flow hears of.
public enum FlowEvent: Sendable {
    /// There is a link, and what is written goes out: on a new link before anything else.
    case ready
    /// A characteristic that the flow subscribes to has sent a value.
    case received(CharacteristicValue, from: BluetoothUUID)
    /// The link is lost; ``FlowChannel/reconnect(_:)`` makes another one.
    case linkLost(BLEError)
    /// The adapter can't be used any more: it was switched off, blocked or taken away.
    case adapterOff
    /// The adapter can be used again.
    case adapterOn
}
