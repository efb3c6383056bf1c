/// A longer piece of work with a device that has phases and tells its progress: pairing, synchronization, an update.
///
/// A flow is a ``Command``: a queue runs it, with the link for itself. ``CommandQueue/run(_:replacing:priority:deadline:onProgress:)`` lets one be
/// active at a time. Flows hear of few things, all of them high up, see ``FlowEvent``. Ours are written with the API that yours get:
///
/// ```swift
/// struct Identify: Flow {
///     func run(on channel: FlowChannel) async throws -> String? {
///         channel.begin("identify")
///         return try await channel.resuming { try await channel.read(BluetoothUUID.Characteristics.serialNumber).text }
///     }
/// }
/// print(try await queue.connecting().run(Identify()) ?? "none")
/// ```
///
/// On a link that is somebody else's, as in ``Session/withLink(timeout:_:)``, a flow can't go on when the link is lost:
/// run it in ``Session/queue`` or in a queue that connects.
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
