import BLEProtocol
import BLERadio
import Synchronization

extension CommandWork {
    /// Makes a link, unless there is one, and does on it what the queue's authorizing asks for.
    func connect(timeout: Duration) async throws {
        switch connection.source {
        case .peripheral: try await findLink(timeout: timeout)
        case .link where isConnected: return
        case .link, .session: throw notOwn("connect")
        }
    }

    /// Ends the link, and waits until it is down; without a link it does nothing. Not disturbed by cancellation.
    func disconnect() async throws {
        guard connection.makesLinks else { throw notOwn("disconnect") }
        let link = connection.take()
        // Before it is closed: streams of others are switched off then, and would wait for this command.
        end()
        await link?.close()
    }

    /// Sees to it that there is a link: makes one, or waits for the session's next one.
    ///
    /// - Parameters:
    ///   - timeout: for how long to try; `nil`: for as long as the session takes, or 30 s.
    ///   - limit: how long to wait for an adapter that can't be used; `nil`: within the timeout.
    func findLink(timeout: Duration?, adapterWithin limit: Duration? = nil) async throws {
        state.withLock { $0.requests += 1 }
        if isConnected { return }
        end()
        switch connection.source {
        case .link: throw noLink
        case .session(let reference):
            let hold = try await reference.standing().hold(timeout: timeout)
            connection.adopt(hold.link)
            take(hold)
        case .peripheral(let peripheral):
            let link = try await makeLink(to: peripheral, timeout: timeout ?? .seconds(30), adapterWithin: limit)
            do {
                // A link that others share may be held by one of them.
                let entry = try await link.acquire()
                connection.adopt(link)
                take(LinkHold(link: Link(link, pass: entry.id), entry: entry))
            } catch {
                link.beginClosing()
                throw error
            }
        }
        tell(.connected)
        do {
            try await authorize()
        } catch {
            // A link on which something is missing is of no use to whoever tries again.
            if connection.makesLinks { try? await disconnect() }
            throw error
        }
        tell(.ready)
    }

    private func take(_ hold: LinkHold) {
        if let entry = hold.entry { holds.add(entry) }
        state.withLock { $0.hold = hold }
    }

    /// Connects, and waits for the adapter where it is that which fails.
    private func makeLink(
        to peripheral: Peripheral,
        timeout: Duration,
        adapterWithin limit: Duration?
    ) async throws -> Link {
        for address in [peripheral.address] + peripheral.alternatives {
            if let refusal = peripheral.core.sessionLinks.refusal(address) { throw refusal }
        }
        let patience = limit.map { ConnectMachine.Patience.upTo($0) } ?? .withinLimit
        return try await peripheral.core.connector.connect(
            to: peripheral,
            Connector.Wish(timeout: timeout, patience: patience)
        )
    }

    /// Whether it is the adapter that can't be used, and may yet return.
    func isOfAdapter(_ error: any Error) -> Bool {
        (error as? BLEError).map { peripheral.core.isOfAdapter($0) } ?? false
    }

    // MARK: - Errors

    /// There is no link.
    var noLink: BLEError {
        let remedy =
            switch connection.source {
            case .link: "Run it on a link that stands, or use `peripheral.withQueue` and `queue.connecting()`."
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
                    "the link is its session's, which makes and ends it",
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

    /// Whether trying again may cure the error, as far as the link is concerned.
    ///
    /// - Parameter requests: how often a link had been asked for when the attempt began.
    func isWorthRetrying(_ error: any Error, since requests: Int) -> Bool {
        guard !(error is CancellationError) else { return false }
        guard let error = error as? BLEError else { return true }
        guard error.code == .disconnected else { return !error.isFinal }
        // A lost link is final for its operations, and not for an attempt that asks for another one.
        return connection.hasNextLink && error.cause != Self.noLinkCause
            && state.withLock { $0.requests } != requests
    }
}
