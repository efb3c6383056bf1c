import BLEProtocol
import BLERadio

extension Central {
    /// Runs a session for as long as the closure runs, and then ends it in order: subscriptions are switched off, the
    /// link is dropped, all of that is waited for, for some seconds at most.
    ///
    /// ```swift
    /// let plan = Session.Plan(finding: .service(.heartRate)).subscribing(to: .heartRateMeasurement)
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
        _ plan: Session.Plan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in },
        _ body: (Session) async throws -> Output
    ) async throws -> Output {
        let session = session(plan, initialise: initialise)
        let driver = SessionDriver(session)
        // Before the closure has the session, which could be quicker to run it.
        _ = session.orders.beginDriving(driver.wake)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await session.run(driver) }
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
        _ plan: Session.Plan,
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
        if orders.isStopped { return }
        let driver = SessionDriver(self)
        guard orders.beginDriving(driver.wake) else {
            throw BLEError(
                .busy,
                operation: "session",
                object: "with \(self)",
                cause: "it is being run already",
                remedy: "Run each session once; `withSession` and a fleet do that by themselves."
            )
        }
        await run(driver)
    }

    /// Drives the session, now that nobody else does, until it is stopped or the task is cancelled, then ends it in order.
    func run(_ driver: SessionDriver) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.queueCore.serve() }
            // Commands of the queue stay in it while the session is disconnected: they wait for its next link.
            while case .disconnect(let done) = await self.drive(driver) {
                await driver.leave(forGood: false)
                for action in done { action() }
            }
            group.cancelAll()
        }
        await driver.leave(forGood: true)
        orders.endDriving()
    }

    /// Drives the session until there is an order, which is returned; `nil`: the task was cancelled.
    private func drive(_ driver: SessionDriver) async -> SessionOrders.Order? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await driver.drive() }
            // The driver ends only when it is told to: that is what is waited for here.
            try? await reply(on: self.core.timeline) { finish in
                self.orders.whenOrdered { finish(.success(())) }
                return {}
            }
            let order = Task.isCancelled ? nil : self.orders.take()
            if case .disconnect = order {
            } else {
                // Commands clean up on the link that they have.
                if self.orders.isStopped { await self.queueCore.close() } else { await self.queueCore.empty() }
            }
            group.cancelAll()
            return order
        }
    }
}
