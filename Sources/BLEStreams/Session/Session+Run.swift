import BLEProtocol
import BLERadio

extension Central {
    /// Runs a session for as long as the closure runs, and then ends it in order: subscriptions are switched off, the
    /// link is dropped, all of that is waited for, for some seconds at most.
    ///
    /// ```swift
    /// let plan = SessionPlan(finding: .service(.heartRate)).subscribing(to: .heartRateMeasurement)
    /// try await central.withSession(plan) { session in
    ///     for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - plan: whom to find, what to ask of it, for how long to try.
    ///   - initialise: what has to succeed first on each link, before the subscriptions; an error counts as a failed
    ///     attempt.
    ///   - body: what the program does meanwhile; the session lives as long as it runs.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws. A session that fails throws from its streams and operations, and can be reset.
    public func withSession<Output>(
        _ plan: SessionPlan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in },
        _ body: (Session) async throws -> Output
    ) async throws -> Output {
        let session = session(plan, initialise: initialise)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await session.run() }
            do {
                let output = try await body(session)
                session.stop()
                try await group.waitForAll()
                return output
            } catch {
                session.stop()
                try? await group.waitForAll()
                throw error
            }
        }
    }

    /// Makes a session that does nothing before ``Session/run()`` is called; ``withSession(_:initialise:_:)`` does both.
    public func session(
        _ plan: SessionPlan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) -> Session {
        Session(plan, on: self, initialise: initialise)
    }
}

extension Session {
    /// Drives the session until it is stopped or the task is cancelled, then ends it in order.
    ///
    /// A session that fails waits here to be reset.
    ///
    /// - Throws: ``BLEError/Code/busy`` where it is being run already; nothing else.
    public func run() async throws {
        let driver = SessionDriver(self)
        guard !isStopped, beginDriving(driver.wake) else {
            guard !isStopped else { return }
            throw BLEError(
                .busy,
                operation: "session",
                object: "with \(self)",
                cause: "it is being run already",
                remedy: "Run each session once."
            )
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await driver.drive() }
            group.addTask { await self.queueCore.serve() }
            // The driver ends only when it is told to: that is what is waited for here.
            try? await reply(on: self.core.timeline) { finish in
                self.whenStopped { finish(.success(())) }
                return {}
            }
            // Commands clean up on the link that they have.
            if self.isStopped { await self.queueCore.close() } else { await self.queueCore.empty() }
            group.cancelAll()
        }
        endDriving()
    }
}
