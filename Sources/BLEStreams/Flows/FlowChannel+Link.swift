import BLEProtocol
import BLERadio
import Synchronization

extension FlowChannel {
    /// Scans until the flow's device is heard.
    ///
    /// - Parameter limit: how long to listen.
    /// - Returns: what the device advertises.
    /// - Throws: ``BLEError/Code/timedOut``; an error of the adapter; `CancellationError`.
    public func find(within limit: Duration = .seconds(30)) async throws -> Discovery {
        try check()
        let addresses = [peripheral.address] + peripheral.alternatives
        return try await Central(core: peripheral.core).scan(for: addresses.map { .address($0) })
            .timeout(limit, for: .wholeStream).first()
    }

    /// Makes sure that there is a link, as often as the policy says: connects where there is none, or waits for the
    /// session's next link in a ``Session/queue``. What the queue authorizes is done on it. Subscriptions of a former link
    /// are gone.
    ///
    /// An adapter that can't be used is waited for first, which counts as no attempt. Cancellation ends the waiting at once.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause; five more times unless said otherwise.
    ///   - limit: how long to wait for the adapter, each time that it is away; 10 minutes unless said otherwise. A session
    ///     waits for it by itself, without a limit.
    /// - Throws: the last error, which is the adapter's when that did not return; ``BLEError/Code/disconnected`` where the
    ///   flow may not connect; `CancellationError`.
    public func reconnect(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        adapterWithin limit: Duration = .seconds(600)
    ) async throws {
        // Also where there is one still: who tries the flow again may count on another link.
        context.state.withLock { $0.requests += 1 }
        var failures = 0
        while !context.isConnected {
            try check()
            state.withLock { $0.subscriptions = [:] }
            // Without a link that may follow, this says that there is none.
            if !context.connection.hasNextLink { throw context.noLink }
            do {
                try await context.findLink(timeout: nil, adapterWithin: limit)
            } catch {
                failures += 1
                // The adapter did not return within the limit.
                guard !(error is CancellationError), (error as? BLEError)?.isFinal != true, !context.isOfAdapter(error),
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Runs the closure, and runs it again on a new link when the link is lost.
    ///
    /// The closure finds out by itself where to go on: what the device has. ``achieved()`` within it says that it gets
    /// on; so many failures without that as the policy allows, and the error is thrown.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause; for connecting too.
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
                guard context.connection.hasNextLink else {
                    error.remedy =
                        "Run the flow in `session.queue`, or in `peripheral.withQueue` with "
                        + "`queue.connecting()`: there it goes on on the next link."
                    throw error
                }
                let achievements = state.withLock { $0.achievements }
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

    /// Says that the flow has come further than ever before, so that the count of failures starts afresh.
    public func achieved() { state.withLock { $0.achievements += 1 } }
}
