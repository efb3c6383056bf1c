import BLEProtocol
import BLERadio
import Synchronization

extension CommandContext {
    /// Scans until the command's device is heard.
    ///
    /// - Parameter limit: how long to listen.
    /// - Returns: what the device advertises.
    /// - Throws: ``BLEError/Code/timedOut``; an error of the adapter; ``BLEError/Code/ended`` when another command has taken
    ///   the place of this one; `CancellationError`.
    public func find(within limit: Duration = .seconds(30)) async throws -> Discovery {
        try work.check()
        scope.listen()
        let addresses = [peripheral.address] + peripheral.alternatives
        return try await Central(core: peripheral.core).scan(for: addresses.map { .address($0) })
            .timeout(limit, for: .wholeStream).first()
    }

    /// Makes sure that there is a link: connects where there is none, or waits for the session's next link in a
    /// ``Session/queue``. What the queue authorizes is done on it. Subscriptions of a former link are gone.
    ///
    /// What fails here is tried again as the policy says, as by ``Command/retry(_:when:)``; the count is that of this call,
    /// and ends with it. An adapter that can't be used is waited for first, which counts as no attempt. Cancellation ends
    /// the waiting at once.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause; five more times unless said otherwise.
    ///   - limit: how long to wait for the adapter, each time that it is away; 10 minutes unless said otherwise. A session
    ///     waits for it by itself, without a limit.
    /// - Throws: the last error, which is the adapter's when that did not return; ``BLEError/Code/disconnected`` where the
    ///   command may not connect; ``BLEError/Code/ended`` when another command has taken the place of this one;
    ///   `CancellationError`.
    public func reconnect(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        adapterWithin limit: Duration = .seconds(600)
    ) async throws {
        scope.listen()
        // Also where there is one still: who tries the command again may count on another link.
        work.state.withLock { $0.requests += 1 }
        var failures = 0
        while !isConnected {
            try work.check()
            scope.forgetSubscriptions()
            // Without a link that may follow, this says that there is none.
            if !hasNextLink { throw work.noLink }
            do {
                try await work.findLink(timeout: nil, adapterWithin: limit)
            } catch {
                failures += 1
                // The adapter did not return within the limit.
                guard !(error is CancellationError), (error as? BLEError)?.isFinal != true, !work.isOfAdapter(error),
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Runs the closure, and runs it again on a new link when the link is lost.
    ///
    /// The closure finds out by itself where to go on: what the device has. A lost link alone is a reason to run it again;
    /// its other errors are thrown at once. The policy counts the lost links in a row without an ``achieved()`` between
    /// them, so that a command that gets on may lose any number of links; and each time it counts the failures to connect
    /// anew, see ``reconnect(_:adapterWithin:)``. By contrast, ``Command/retry(_:when:)`` tries again after any error that is
    /// not final, counts all of them, and begins the command from its beginning.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause.
    ///   - limit: how long to wait for the adapter, each time that it is away. See ``reconnect(_:adapterWithin:)``.
    ///   - body: the work on one link.
    /// - Throws: what the closure throws; ``BLEError/Code/disconnected``, with what to do, where the link is somebody
    ///   else's and no other may follow; as ``reconnect(_:adapterWithin:)``.
    public func resuming<Output>(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        adapterWithin limit: Duration = .seconds(600),
        _ body: () async throws -> Output
    ) async throws -> Output {
        var (failures, seen) = (0, -1)
        while true {
            do {
                try await reconnect(policy, adapterWithin: limit)
                return try await body()
            } catch var error as BLEError where error.code == .disconnected {
                guard hasNextLink else {
                    error.remedy =
                        "Run the command in `session.queue`, or in `peripheral.withQueue` with "
                        + "`queue.connecting()`: there it goes on on the next link."
                    throw error
                }
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

    /// Says that the command has come further than ever before, so that ``resuming(_:adapterWithin:_:)`` counts lost links
    /// afresh.
    public func achieved() { scope.achieved() }
}
