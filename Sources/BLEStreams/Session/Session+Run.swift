import BLEProtocol
import BLERadio

extension Central {
    /// Runs a session while the closure runs, and then ends it cleanly: unsubscribes, drops the link, and waits for
    /// both, for some seconds at most.
    ///
    /// ```swift
    /// let plan = Session.Plan(finding: .service(.heartRate)).subscribing(to: .heartRateMeasurement)
    /// try await central.withSession(plan) { session in
    ///     for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - plan: which peripheral to find, what to require of it, and how long to try.
    ///   - initialise: the program's first steps on each link, before the subscriptions; an error counts as a failed
    ///     attempt. They are cancelled when the link ends, or the plan's time for them.
    ///   - body: the program's work; the session ends with it.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws. The streams and operations of a failed session throw its error; it can be
    ///   reset.
    public func withSession<Output>(
        _ plan: Session.Plan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in },
        _ body: (Session) async throws -> Output
    ) async throws -> Output {
        let session = session(plan, initialise: initialise)
        let driver = SessionDriver(session)
        // Before the closure gets the session and could run it itself.
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

    /// Creates a session for a task of your own to run: it does nothing until ``Session/run()`` is called. Usually,
    /// ``withSession(_:initialise:_:)`` is the better choice, which does both.
    public func session(
        _ plan: Session.Plan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) -> Session {
        Session(plan, on: self, initialise: initialise)
    }
}

extension Session {
    /// Runs the session until it is stopped or the task is cancelled, then ends it cleanly.
    ///
    /// If the session fails, this waits for ``reset()``. A session whose task was cancelled can be run again, with new
    /// streams: it connects by itself, unless the program had called ``disconnect()``. Until this call has begun,
    /// whoever uses the session or its queue is told that it has ended. So that it can be run again, it keeps its first
    /// steps: if these use the session, it is released only after ``stop()``.
    ///
    /// - Throws: ``BLEError/Code/busy`` if it is already running; nothing else.
    public func run() async throws {
        if orders.isStopped { return end() }
        let driver = SessionDriver(self)
        guard orders.beginDriving(driver.wake) else {
            throw BLEError(
                .busy,
                operation: "session",
                object: "with \(self)",
                cause: "it is already running",
                remedy: "Run each session once; `withSession` and a fleet already do."
            )
        }
        await run(driver)
    }

    /// Runs the session, which no other task does, until it is stopped or the task is cancelled, then ends it cleanly.
    func run(_ driver: SessionDriver) async {
        queueCore.jobs.open()
        channels.begin()
        board.begin()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.queueCore.serve() }
            // Commands stay in the queue while the session is disconnected: they wait for its next link.
            while case .disconnect(let done) = await self.drive(driver) {
                await driver.leave(forGood: false)
                for action in done { action() }
            }
            group.cancelAll()
        }
        await driver.leave(forGood: true)
        endDriving()
    }

    /// Drives the session until there is an order, and returns it; `nil` if the task was cancelled.
    private func drive(_ driver: SessionDriver) async -> SessionOrders.Order? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await driver.drive() }
            // The driver ends only on cancellation, which this waits for.
            try? await reply(on: self.core.timeline) { finish in
                self.orders.whenOrdered { finish(.success(())) }
                return {}
            }
            let order = Task.isCancelled ? nil : self.orders.take()
            if case .disconnect = order {
            } else {
                // Commands clean up on the link they have.
                if self.orders.isStopped { await self.queueCore.close() } else { await self.queueCore.empty() }
            }
            group.cancelAll()
            return order
        }
    }
}
