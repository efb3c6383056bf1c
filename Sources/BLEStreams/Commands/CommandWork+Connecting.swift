import BLEProtocol
import BLERadio
import Synchronization

extension CommandWork {
    /// Connects and authorizes as the queue requires; does nothing if a link is up.
    func connect(timeout: Duration) async throws {
        switch connection.source {
        case .peripheral: try await alone(within: timeout) { try await findLink(within: $0) }
        case .link where isConnected: return
        case .link, .session: throw notOwn("connect")
        }
    }

    /// Ends the link, and waits until it is down, even if the task is cancelled; does nothing without a link.
    func disconnect() async throws {
        guard connection.makesLinks else { throw notOwn("disconnect") }
        let link = connection.take()
        // Before the link closes: closing switches off the streams of others, which would wait for this command.
        end()
        await link?.close()
    }

    /// How long an attempt to connect takes if nothing else is said.
    private static let connecting = Duration.seconds(30)

    /// Ensures that a link is up: makes one, or waits for the session's next one, and for the turn on it. Only one part
    /// of the command may do so at a time.
    ///
    /// - Parameters:
    ///   - limit: how long to try; `nil`: as long as the session takes, or 30 s and then as long as another user has
    ///     exclusive use of the link.
    ///   - absence: how long to wait for an unusable adapter; `nil`: within the limit.
    ///   - patience: how long to try at most if there is no limit; `nil`: without another one.
    /// - Throws: ``AdapterStaysAway``, if it waits for the adapter that long and the adapter is why there is no link;
    ///   the error itself if it doesn't, or if there is another reason.
    func findLink(
        within limit: TurnLimit?,
        adapterWithin absence: Duration? = nil,
        patience: TurnLimit? = nil
    ) async throws {
        state.withLock { $0.requests += 1 }
        if isConnected { return }
        end()
        let isNew = try await obtainLink(within: limit, adapterWithin: absence, patience: patience)
        tell(.connected)
        do {
            try await authorize()
        } catch {
            guard isNew else { throw error }
            // The next attempt needs a fresh link. A session's stays up: the next attempt finds it again, and is not
            // taken for ready meanwhile.
            if connection.makesLinks { try? await disconnect() } else { end() }
            throw error
        }
        tell(.ready)
    }

    /// Makes a link, or finds one, and waits for the turn on it.
    ///
    /// - Returns: whether it is not the one that the queue had.
    private func obtainLink(
        within limit: TurnLimit?,
        adapterWithin absence: Duration?,
        patience: TurnLimit?
    ) async throws -> Bool {
        defer { connection.note(nil) }
        switch connection.source {
        case .session(let reference):
            let session = try reference.standing()
            let hold = try await nextHold(of: session, within: limit ?? patience, adapterWithin: absence)
            connection.adopt(hold.link)
            take(hold)
        case .link, .peripheral:
            if let hold = try await connection.hold(limit: limit?.rest) {
                take(hold)
                return false
            }
            guard case .peripheral(let target) = connection.source else { throw noLink }
            let time = patience.map { min($0.rest.duration, Self.connecting) } ?? Self.connecting
            take(try await makeHeldLink(to: target, timeout: time, within: limit, adapterWithin: absence))
        }
        return true
    }

    /// The adapter did not return in time, or the session has failed for want of it.
    ///
    /// A caller that asks for a link can't conclude this from an error's code: what authorizes, or a session's first
    /// steps, may use another adapter, and fail for want of that.
    struct AdapterStaysAway: Error {
        let error: BLEError
    }

    /// Waits for the session's next link.
    private func nextHold(
        of session: Session,
        within limit: TurnLimit?,
        adapterWithin absence: Duration?
    ) async throws -> LinkHold {
        do {
            return try await session.hold(within: limit) { connection.note($0) }
        } catch let error as BLEError where absence != nil && session.board.hasFailedForAdapter {
            throw AdapterStaysAway(error: error)
        }
    }

    private func take(_ hold: LinkHold) {
        if let entry = hold.entry { holds.add(entry) }
        state.withLock { $0.hold = hold }
    }

    /// Connects, and waits for a turn on the link, which may be shared, and held by another user.
    ///
    /// A link that is lost meanwhile is made again: nothing of the command has run on it.
    ///
    /// - Parameters:
    ///   - timeout: how long each connection may take, without a limit for all of it.
    ///   - limit: the limit for connecting and the turn together; `nil`: none for the turn.
    private func makeHeldLink(
        to peripheral: Peripheral,
        timeout: Duration,
        within limit: TurnLimit?,
        adapterWithin absence: Duration?
    ) async throws -> LinkHold {
        while true {
            // An error names the whole limit, as the program has given it.
            var wish = Connector.Wish(timeout: limit?.rest.duration ?? timeout, limit: limit?.total)
            wish.patience = absence.map { ConnectMachine.Patience.upTo($0) } ?? .withinLimit
            connection.note(.unlinked(peripheral))
            let link = try await makeLink(to: peripheral, wish, waitsLonger: absence != nil)
            connection.note(.held)
            let beginning = timeline.now
            do {
                let entry = try await link.acquire(limit: limit?.rest)
                connection.adopt(link)
                return LinkHold(link: Link(link, pass: entry.id), entry: entry)
            } catch {
                link.beginClosing()
                // One that could not be held for a moment would fail again at once.
                guard (error as? BLEError)?.code == .disconnected, timeline.now > beginning else { throw error }
                try check()
            }
        }
    }

    /// Connects, and waits for the adapter if that is the cause of a failure.
    ///
    /// - Parameter waitsLonger: whether it has waited for the adapter beyond the limit for connecting.
    private func makeLink(
        to peripheral: Peripheral,
        _ wish: Connector.Wish,
        waitsLonger: Bool
    ) async throws -> Link {
        for address in [peripheral.address] + peripheral.alternatives {
            if let refusal = peripheral.core.sessionLinks.refusal(address) { throw refusal }
        }
        let core = peripheral.core
        do {
            return try await core.connector.connect(to: peripheral, wish)
        } catch let error as BLEError where waitsLonger && core.isOfAdapter(error, connectingTo: peripheral.address) {
            throw AdapterStaysAway(error: error)
        }
    }

    // MARK: - Errors

    /// There is no link.
    var noLink: BLEError {
        let remedy =
            switch connection.source {
            case .link: "Run it on a link that is up, or use `peripheral.withQueue` and `queue.connecting()`."
            case .peripheral: "Run `.connect` first, or use `queue.connecting()`."
            case .session: "Run it in `session.queue`, which waits for the session's link."
            }
        if case .link = connection.source, let end = connection.end {
            var error = BLEError.linkEnded(end, operation: "command", object: "on \(peripheral)")
            error.remedy = remedy
            return error
        }
        var error = BLEError(
            .disconnected,
            operation: "command",
            object: "on \(peripheral)",
            cause: Self.noLinkCause,
            remedy: remedy
        )
        error.reason = connection.end
        error.isFinal = true
        return error
    }

    private static let noLinkCause = "there is no link"

    private func notOwn(_ operation: String) -> BLEError {
        let (cause, remedy) =
            if case .session = connection.source {
                (
                    "the link belongs to a session, which makes and ends it",
                    "Leave the command out: a command of `session.queue` finds a link."
                )
            } else {
                (
                    "the command was given a link to run on, which it can neither make nor end",
                    "Run it in Peripheral.withQueue, whose commands make and end the link."
                )
            }
        return BLEError(.notSupported, operation: operation, object: "\(peripheral)", cause: cause, remedy: remedy)
    }

    /// Whether another attempt may succeed, as far as the link is concerned.
    ///
    /// - Parameter requests: the number of requests for a link when the attempt began.
    func isWorthRetrying(_ error: any Error, since requests: Int) -> Bool {
        guard !(error is CancellationError) else { return false }
        guard let error = error as? BLEError else { return true }
        guard error.endsLink else { return !error.isFinal }
        // A lost link is final for its operations, but not for an attempt that asks for another link.
        return connection.hasNextLink && error.cause != Self.noLinkCause
            && state.withLock { $0.requests } != requests
    }
}
