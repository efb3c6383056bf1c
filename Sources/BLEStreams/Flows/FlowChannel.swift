public import BLEProtocol
package import BLERadio
import Synchronization

/// A flow's way to its device: reads, writes, subscriptions, what it hears, and its progress.
///
/// Closed when the flow ends or is replaced: from then on it gives no event, and everything throws; a flow that was replaced
/// has ``conclude(_:on:limit:where:)`` left, to leave the device in order.
public final class FlowChannel: Sendable {
    struct State {
        var subscriptions: [BluetoothUUID: @Sendable () -> Void] = [:]
        var meter: ProgressMeter?
        var phase = ""
        var end: (any Error)?
        /// Counts what has been achieved: a flow that gets on may be interrupted any number of times.
        var achievements = 0
        /// The link whose end was heard of, or will be.
        var watchedLink = 0
        /// Ends what was begun to hear of the adapter and its scans.
        var unwatch: [@Sendable () -> Void] = []
        var isAdapterUsable = true
        /// Whether the device was heard since the scan began.
        var isDiscovered = false
    }

    let context: CommandContext
    let inbox: Inbox<FlowEvent>
    let state = Mutex(State())

    /// The device.
    public var peripheral: Peripheral { context.peripheral }

    /// How many octets fit into one write without response: see ``Link/maximumWriteLength(for:)``; 20 without a link.
    public var maximumWriteLength: Int { (try? context.link)?.maximumWriteLength(for: .withoutResponse) ?? 20 }

    /// Whether there is a link, and it stands.
    public var isConnected: Bool { context.isConnected }

    /// Whether another link may follow this one: in a session's queue, and in one that connects.
    package var hasNextLink: Bool { context.connection.hasNextLink }

    /// The time of the radio that carries the link.
    package var timeline: any Timeline { context.timeline }

    init(_ context: CommandContext) {
        self.context = context
        inbox = Inbox(timeline: context.timeline)
        let unwatch = [watchAdapter(), watchScans(), watchLinks()]
        state.withLock { $0.unwatch = unwatch }
    }

    /// No event comes out of the channel any more, and nothing begins on it. What is subscribed to stays so until it is
    /// closed: whoever has to tell the device to stop still hears its answer.
    func silence(_ error: any Error) {
        state.withLock { state in if state.end == nil { state.end = error } }
        inbox.finish(error, droppingElements: true)
    }

    /// Ends the channel, with all that it has subscribed to.
    func close(_ error: any Error) {
        silence(error)
        let (undo, unwatch) = state.withLock { state in
            defer {
                state.subscriptions = [:]
                state.unwatch = []
            }
            return (Array(state.subscriptions.values), state.unwatch)
        }
        for action in unwatch + undo { action() }
    }

    func check() throws { if let end = state.withLock({ $0.end }) { throw end } }

    // MARK: - What is heard

    /// The next event.
    ///
    /// - Parameter timeout: how long to wait; `nil`: for ever.
    /// - Throws: ``BLEError/Code/timedOut``; `CancellationError`, also when the flow was replaced.
    public func next(timeout: Duration? = nil) async throws -> FlowEvent {
        let (phase, object) = (state.withLock { $0.phase }, "on \(peripheral)")
        return try await inbox.next(
            limit: timeout.map { timeout in
                (
                    timeout,
                    { BLEError.timedOut(phase, object: object, after: timeout, waitingFor: "the device said nothing") }
                )
            }
        )
    }

    /// The next event if it is there already.
    public func available() -> FlowEvent? { inbox.take() }

    /// The next value of a characteristic that is subscribed to.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost; ``BLEError/Code/timedOut``; `CancellationError`.
    public func value(timeout: Duration? = nil) async throws -> (value: CharacteristicValue, source: BluetoothUUID) {
        while true {
            switch try await next(timeout: timeout) {
            case .received(let value, let source): return (value, source)
            case .linkLost(let error): throw error
            default: break
            }
        }
    }

    // MARK: - The device

    /// What a characteristic can do.
    public func properties(of uuid: BluetoothUUID) async throws -> Characteristic.Properties {
        try check()
        return try await context.link.characteristic(
            .uuid(uuid, service: nil),
            operation: state.withLock { $0.phase },
            timeout: nil
        ).properties
    }

    /// Whether the device has a service.
    public func hasService(_ uuid: BluetoothUUID) async throws -> Bool {
        try check()
        return try await context.link.discover().service(uuid) != nil
    }

    /// Switches the values of a characteristic on; returns when the device has confirmed that. They come as
    /// ``FlowEvent/received(_:from:)``, until the channel is closed, the link ends or ``unsubscribe(from:)``.
    public func subscribe(to uuid: BluetoothUUID, indications: Bool = false) async throws {
        try check()
        let link = try context.link
        state.withLock { $0.subscriptions.removeValue(forKey: uuid) }?()
        let inbox = inbox
        let undo = try await link.subscribe(
            .uuid(uuid, service: nil),
            indications: indications,
            deliver: { inbox.send(.received($0, from: uuid)) }
        )
        let isOver = state.withLock { state in
            if state.end == nil { state.subscriptions[uuid] = undo }
            return state.end != nil
        }
        if isOver { undo() }
        try check()
    }

    /// Switches the values of a characteristic off.
    public func unsubscribe(from uuid: BluetoothUUID) {
        state.withLock { $0.subscriptions.removeValue(forKey: uuid) }?()
    }
}

extension FlowChannel: CharacteristicAccess {
    /// Runs the closure with the flow's link. See ``CharacteristicAccess``.
    public func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        try check()
        return try await context.withLink(for: operation, timeout: timeout, body)
    }

    /// What a characteristic sends, on the link that there is when the stream is iterated. See ``CharacteristicAccess``.
    public func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        context.octets(of: characteristic, readingFirst: readsFirst, indications: indications, buffer: buffer)
    }
}
