public import BLEProtocol
package import BLERadio

/// What a command works with: the device, its link, events, and progress reports.
///
/// A command reads, writes and subscribes to characteristics through it, as through a ``Link``: see
/// ``CharacteristicAccess``. A flow reports its phases with ``begin(_:total:completed:)``, hears of the link, the
/// adapter and the device with ``next(timeout:)``, and continues on another link with ``resuming(_:adapterWithin:_:)``.
///
/// Child tasks of a command may use it at the same time: if several connect, one of them makes the link, and all get it
/// once the queue's authorizations are done on it.
///
/// Don't use it after the command has ended. Each member of a group, each command chained with `then` and each attempt
/// of a retried command has a context of its own: its subscriptions end with it.
public struct CommandContext: Sendable {
    let work: CommandWork
    let scope: CommandScope

    /// The device. Until a session has found it, its address is all zeros.
    public var peripheral: Peripheral { work.peripheral }

    /// Whether a link is up.
    public var isConnected: Bool { work.isConnected }

    /// The maximum number of octets in one write without response; 20 without a link. See
    /// ``Link/maximumWriteLength(for:)``.
    public var maximumWriteLength: Int { work.handle?.maximumWriteLength(for: .withoutResponse) ?? 20 }

    /// Whether another link may follow this one: in a session's queue, or in one whose commands make the link.
    package var hasNextLink: Bool { work.connection.hasNextLink }

    /// Waits until another run of the flow has finished; the error of a limit that passes meanwhile says so.
    ///
    /// - Throws: `CancellationError`.
    package func wait(forOtherRun end: Ending<Void>) async throws {
        work.connection.note(.behindOtherRun)
        defer { work.connection.note(nil) }
        try await end.wait(on: timeline)
    }

    /// The time of the radio that carries the link.
    package var timeline: any Timeline { work.timeline }

    /// The link, for this command alone.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` if no link is up; ``BLEError/Code/ended`` if another command has
    ///   replaced this one.
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

    /// Whether the device has a service; discovers its services if they aren't known yet.
    public func hasService(_ uuid: BluetoothUUID) async throws -> Bool {
        try await link.discover().service(uuid) != nil
    }
}

extension CommandContext {
    /// Connects and authorizes as the queue requires; does nothing if a link is up.
    ///
    /// If the adapter can't be used now, this waits for it, within the time limit.
    ///
    /// - Parameter timeout: how long to try, waiting for the adapter and for a turn on a shared link included.
    /// - Throws: what ``Peripheral/withLink(timeout:parameters:pairing:_:)`` throws; what authorizing throws, after
    ///   ending the link; ``BLEError/Code/notSupported`` if the link is a session's, or is somebody else's and lost.
    public func connect(timeout: Duration = .seconds(30)) async throws {
        try work.check()
        try await work.connect(timeout: timeout)
    }

    /// Ends the link, and waits until it is down, even if the task is cancelled; does nothing without a link. If the
    /// peripheral's link has other users, it stays up for them: the command's subscriptions end nevertheless.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` if the link is a session's or somebody else's.
    public func disconnect() async throws {
        if work.connection.makesLinks { scope.unsubscribe() }
        try await work.disconnect()
    }
}
