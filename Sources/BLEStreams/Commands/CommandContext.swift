public import BLEProtocol
package import BLERadio

/// What a command works with: the device, its link, what it hears, and a place for its progress.
///
/// Characteristics are read, written and subscribed to through it, as through a ``Link``: see ``CharacteristicAccess``. A
/// command with phases, a flow, tells them by ``begin(_:total:completed:)``, hears of the link, the adapter and the device
/// by ``next(timeout:)``, and goes on on another link by ``resuming(_:adapterWithin:_:)``.
///
/// It is of no use after the command has ended. Members of a group, commands that are chained by `then`, and attempts of a
/// command that is retried each have a context of their own: what one of them subscribes to ends with it.
public struct CommandContext: Sendable {
    let work: CommandWork
    let scope: CommandScope

    /// The device; of a session that is yet to find it, one whose address is all zeros until there is a link.
    public var peripheral: Peripheral { work.peripheral }

    /// Whether there is a link, and it stands.
    public var isConnected: Bool { work.isConnected }

    /// Whether a command may make and end the link, as in ``Peripheral/withQueue(_:)``.
    public var canConnect: Bool { work.connection.makesLinks }

    /// How many octets fit into one write without response, see ``Link/maximumWriteLength(for:)``; 20 without a link.
    public var maximumWriteLength: Int { work.handle?.maximumWriteLength(for: .withoutResponse) ?? 20 }

    /// Whether another link may follow this one: in a session's queue, and in one that connects.
    package var hasNextLink: Bool { work.connection.hasNextLink }

    /// The time of the radio that carries the link.
    package var timeline: any Timeline { work.timeline }

    /// The link, for this command alone.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` where there is none, or none any more; ``BLEError/Code/ended`` when another
    ///   command has taken the place of this one.
    public var link: Link {
        get throws {
            try work.check()
            guard let handle = work.handle else { throw work.noLink }
            if let end = handle.bearer.end {
                throw BLEError.linkEnded(end, operation: "command", object: "on \(peripheral)")
            }
            return handle
        }
    }

    /// Whether the device has a service; discovers its services where they aren't known yet.
    public func hasService(_ uuid: BluetoothUUID) async throws -> Bool {
        try await link.discover().service(uuid) != nil
    }
}

extension CommandContext {
    /// Makes a link, unless there is one, and does on it what the queue's authorizing asks for.
    ///
    /// An adapter that can't be used now is waited for, within the time limit.
    ///
    /// - Parameter timeout: for how long to try, waiting for the adapter included.
    /// - Throws: as ``Peripheral/withLink(timeout:parameters:pairing:_:)``; what authorizing throws, and the link is ended then;
    ///   ``BLEError/Code/notSupported`` where the link is a session's, or somebody else's and lost.
    public func connect(timeout: Duration = .seconds(30)) async throws {
        try work.check()
        try await work.connect(timeout: timeout)
    }

    /// Ends the link, and waits until it is down; without a link it does nothing. Not disturbed by cancellation.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where the link is somebody else's.
    public func disconnect() async throws { try await work.disconnect() }
}
