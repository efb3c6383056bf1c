import BLEProtocol
import BLERadio
import Synchronization

/// What a command works with: the device, its link, and a place for progress. Of no use after the command has ended.
public final class CommandContext: Sendable {
    private struct State {
        var hold: Lane.Entry?
        /// The link in the name of the hold.
        var handle: Link?
        /// What has to be done on each new link.
        var afterConnecting: [@Sendable (CommandContext) async throws -> Void] = []
    }

    /// The device.
    public var peripheral: Peripheral { connection.peripheral }

    /// Whether there is a link, and it stands.
    public var isConnected: Bool { handle?.bearer.end == nil && handle != nil }

    /// Whether a command may make and end the link, as in ``Peripheral/withQueue(_:)``.
    public var canConnect: Bool { connection.isOwn }

    let connection: CommandConnection
    let holds = LaneHolds()
    private let state: Mutex<State>
    private let onReport: @Sendable (CommandProgress) -> Void
    private let watcher = Mutex<(@Sendable (CommandProgress) -> Void)?>(nil)

    var timeline: any Timeline { connection.timeline }

    private var handle: Link? { state.withLock { $0.handle } }

    init(
        _ connection: CommandConnection,
        hold: Lane.Entry,
        of link: Link,
        report: @escaping @Sendable (CommandProgress) -> Void
    ) {
        self.connection = connection
        state = Mutex(State(hold: hold, handle: Link(link, pass: hold.id)))
        onReport = report
        holds.add(hold)
    }

    /// With a link that is held already, or without one.
    init(
        _ connection: CommandConnection,
        handle: Link? = nil,
        report: @escaping @Sendable (CommandProgress) -> Void = { _ in }
    ) {
        self.connection = connection
        state = Mutex(State(handle: handle))
        onReport = report
    }

    /// The link, for this command alone.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` where there is none, or none any more.
    public var link: Link {
        get throws {
            guard let handle else { throw notConnected }
            if let end = handle.bearer.end {
                throw BLEError.linkEnded(end, operation: "command", object: "on \(peripheral)")
            }
            return handle
        }
    }

    /// Tells how far the command has come: ``CommandQueue/contents`` shows it.
    public func report(_ progress: CommandProgress) {
        onReport(progress)
        watcher.withLock { $0 }?(progress)
    }

    /// Has somebody else hear of the progress too.
    func watchProgress(_ watcher: @escaping @Sendable (CommandProgress) -> Void) {
        self.watcher.withLock { $0 = watcher }
    }

    private var notConnected: BLEError {
        var error = BLEError(
            .disconnected,
            operation: "command",
            object: "on \(peripheral)",
            cause: "there is no link",
            remedy: connection.isOwn
                ? "Run `.connect` first, or use `queue.connecting()`."
                : "Connect again with Peripheral.withLink, or run the command in Peripheral.withQueue."
        )
        error.reason = connection.end
        error.isFinal = true
        return error
    }

    // MARK: - Making and ending the link

    /// Makes a link, unless there is one.
    ///
    /// - Parameter timeout: for how long to try.
    /// - Throws: as ``Peripheral/withLink(timeout:_:)``; ``BLEError/Code/notSupported`` where the link is somebody
    ///   else's, and lost.
    public func connect(timeout: Duration = .seconds(30)) async throws {
        if isConnected { return }
        guard connection.isOwn else { throw notOwn("connect") }
        end()
        let link: Link = try await reply(on: timeline, unwanted: Link.giveUp) { finish in
            ConnectAttempt.start(to: peripheral, timeout: timeout) { finish($0.mapError { $0 as any Error }) }
        }
        do {
            // Nobody else knows the link yet.
            let hold = try await link.acquire()
            holds.add(hold)
            state.withLock { state in
                state.hold = hold
                state.handle = Link(link, pass: hold.id)
            }
            connection.adopt(link)
        } catch {
            link.beginClosing()
            throw error
        }
        do {
            for action in state.withLock({ $0.afterConnecting }) { try await action(self) }
        } catch {
            // A link on which something is missing is of no use to whoever tries again.
            try? await disconnect()
            throw error
        }
    }

    /// Has something done on each link that is made from now on, before anything else.
    func afterConnecting(_ action: @escaping @Sendable (CommandContext) async throws -> Void) {
        state.withLock { $0.afterConnecting.append(action) }
    }

    /// Ends the link, and waits until it is down; without a link it does nothing. Not disturbed by cancellation.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where the link is somebody else's.
    public func disconnect() async throws {
        guard connection.isOwn else { throw notOwn("disconnect") }
        let link = connection.take()
        // Before it is closed: streams of others are switched off then, and would wait for this command.
        end()
        await link?.close()
    }

    private func notOwn(_ operation: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: "\(peripheral)",
            cause: "the command was given a link to run on, which it can neither make nor end",
            remedy: "Run it in Peripheral.withQueue, whose commands make and end the link."
        )
    }

    /// Gives the link back to the others.
    func end() {
        let hold = state.withLock { state in
            state.handle = nil
            return state.hold.take()
        }
        guard let hold else { return }
        holds.remove(hold)
        hold.leave()
    }

    /// Whether trying again may cure the error, as far as the link is concerned.
    func isWorthRetrying(_ error: any Error) -> Bool {
        guard !(error is CancellationError) else { return false }
        guard let error = error as? BLEError else { return true }
        // A lost link is final for its operations, and not for a command that may make another one.
        if error.code == .disconnected { return canConnect && error.cause != notConnected.cause }
        return !error.isFinal
    }
}
