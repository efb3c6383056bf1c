import BLEProtocol
import BLERadio
import Synchronization

extension CommandContext {
    /// Scans until the command's device is heard.
    ///
    /// - Parameter limit: how long to listen.
    /// - Returns: what the device advertises.
    /// - Throws: ``BLEError/Code/timedOut``; an error of the adapter; ``BLEError/Code/ended`` if another command has
    ///   replaced this one; `CancellationError`.
    public func find(within limit: Duration = .seconds(30)) async throws -> Discovery {
        try work.check()
        scope.listen()
        let addresses = [peripheral.address] + peripheral.alternatives
        return try await Central(core: peripheral.core).scan(for: addresses.map { .address($0) })
            .timeout(limit, for: .firstValue).first()
    }

    /// Ensures that a link is up: connects if there is none, or, in a ``Session/queue``, waits for the session's next
    /// link. The queue's authorizing is done on it. Subscriptions of an earlier link are gone.
    ///
    /// Failures are retried by the policy, as with ``Command/retry(_:when:)``; each call counts anew. Waiting for an
    /// adapter that can't be used doesn't count as an attempt, and waiting for a turn on a link with other users has no
    /// limit. Each attempt to connect takes up to 30 s, whatever ``CommandQueue/connecting(timeout:then:)`` allows for
    /// the command's first link; a session makes its next link as its plan says. Cancellation ends the wait at once.
    ///
    /// - Parameters:
    ///   - policy: how often to retry, and after what pause; by default five more times.
    ///   - limit: how long each attempt waits for the adapter, counted from when it is first away, also if it comes
    ///     back and goes again; by default 10 minutes. A session waits for it itself, without a limit.
    /// - Throws: the last error, which is the adapter's if it did not return; ``BLEError/Code/disconnected`` if the
    ///   command may not connect; ``BLEError/Code/ended`` if another command has replaced this one;
    ///   `CancellationError`.
    public func reconnect(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        adapterWithin limit: Duration = .seconds(600)
    ) async throws {
        try await reconnect(policy, adapterWithin: limit, within: nil)
    }

    /// The same, with a limit for each attempt: a session otherwise makes its next link whenever it can.
    package func reconnect(
        _ policy: RetryPolicy,
        adapterWithin limit: Duration = .seconds(600),
        within patience: Duration?
    ) async throws {
        scope.listen()
        // Counts even if a link is still up: a retry of the command may then expect another link.
        work.state.withLock { $0.requests += 1 }
        var failures = 0
        while !isConnected || work.isBeingPrepared {
            try work.check()
            if !isConnected {
                scope.unsubscribe()
                // If no other link may follow, the error says so.
                if !hasNextLink { throw work.noLink }
            }
            do {
                try await work.alone(within: patience) { patience in
                    try await work.findLink(within: nil, adapterWithin: limit, patience: patience)
                }
            } catch let absence as CommandWork.AdapterStaysAway {
                throw absence.error
            } catch {
                failures += 1
                let error: any Error = (error as? BLEError)?.forNextLink ?? error
                guard !(error is CancellationError), (error as? BLEError)?.isFinal != true,
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Runs the closure, and runs it again on a new link when the link is lost.
    ///
    /// The closure itself finds out from the device where to continue. Only the loss of the command's own link makes it
    /// run again, also if that was closed because the device left a request unanswered for 30 s, or if its adapter was
    /// lost during a pairing; other errors are thrown at once, and so is the loss of another device's link. The policy
    /// counts lost links in a row without an ``achieved()`` between them, so a command that makes progress may lose any
    /// number of links. Each time, failures to connect are counted anew: see ``reconnect(_:adapterWithin:)``. By
    /// contrast, ``Command/retry(_:when:)`` tries again after any error that is not final, counts all of them, and runs
    /// the command from its beginning.
    ///
    /// - Parameters:
    ///   - policy: how often to run it again, and after what pause.
    ///   - limit: how long each attempt to connect waits for the adapter. See ``reconnect(_:adapterWithin:)``.
    ///   - body: the work on one link.
    /// - Throws: what the closure throws; ``BLEError/Code/disconnected``, with a remedy, if the link is somebody else's
    ///   and no other may follow; what ``reconnect(_:adapterWithin:)`` throws.
    public func resuming<Output>(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        adapterWithin limit: Duration = .seconds(600),
        _ body: () async throws -> Output
    ) async throws -> Output {
        var (failures, seen) = (0, -1)
        while true {
            // The one on which the closure begins.
            var link: Link?
            do {
                try await reconnect(policy, adapterWithin: limit)
                link = work.handle
                return try await body()
            } catch var error as BLEError where error.tellsEnd(of: link) || tellsLoss(error, of: link) {
                guard hasNextLink else {
                    error.remedy =
                        "Run the command in `session.queue`, or in `peripheral.withQueue` with "
                        + "`queue.connecting()`: there it continues on the next link."
                    throw error
                }
                // It has been tried again as often as the policy allows.
                guard link != nil else { throw error }
                let achievements = scope.achievements
                if achievements != seen { failures = 0 }
                seen = achievements
                failures += 1
                guard let delay = policy.delay(afterFailure: failures, random: timeline.randomBits()) else {
                    throw error
                }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Whether an error about the adapter tells of the end of the closure's link, which another one may follow: a
    /// pairing that a request waits for ends with such an error, and may do so before the link. If the closure has
    /// asked for another link itself, it has waited for the adapter as long as it wanted to.
    private func tellsLoss(_ error: BLEError, of link: Link?) -> Bool {
        guard hasNextLink, error.isAboutAdapter, let link, link === work.handle else { return false }
        return link.isEnding || !link.peripheral.core.isAdapterOn(ofLinkTo: link.peripheral.address)
    }

    /// Reports that the command has come further than ever before, so that ``resuming(_:adapterWithin:_:)`` counts lost
    /// links anew.
    public func achieved() { scope.achieved() }
}
