import BLERadio
import Synchronization

/// Many sessions on one radio, and their values as one stream. Use a fleet to follow many peripherals at once; for one,
/// a ``Session`` is enough.
///
/// ```swift
/// try await central.withFleet { fleet in
///     for address in addresses { fleet.add(Session.Plan(address).subscribing(to: .heartRateMeasurement)) }
///     for try await item in fleet.values { print(item.session, item.value.hex) }
/// }
/// ```
///
/// Sessions can be added and removed at any time. They share the radio: one scan serves all sessions that search, and
/// attempts to connect run side by side or, if there are many, take turns; a slow or absent peripheral delays no other
/// one. If the controller manages fewer links than there are sessions, a slot that becomes free goes to the session that
/// has waited longest. Two sessions for one peripheral share its link. A failed session stays in the fleet until it is
/// reset or removed.
public final class Fleet: Sendable {
    private struct State {
        var sessions: [Session] = []
        var watchers = Observers<FleetWatcher>()
        var whenGone: [ObjectIdentifier: [@Sendable () -> Void]] = [:]
        var isOver = false
    }

    let central: Central
    private let state = Mutex(State())
    private let additions: AsyncStream<SessionDriver>
    private let adder: AsyncStream<SessionDriver>.Continuation

    init(_ central: Central) {
        self.central = central
        (additions, adder) = AsyncStream.makeStream()
    }

    /// The sessions, in the order in which they were added.
    public var sessions: [Session] { state.withLock { $0.sessions } }

    // MARK: - Changing it

    /// Adds a session, which begins immediately.
    ///
    /// - Parameters:
    ///   - plan: which peripheral to find, what to require of it, and how long to try.
    ///   - initialise: the program's first steps on each link, before the subscriptions; they must succeed.
    /// - Returns: the session; if the fleet has ended, the session has ended too.
    @discardableResult
    public func add(
        _ plan: Session.Plan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in }
    ) -> Session {
        let session = Session(plan, on: central, initialise: initialise)
        let driver = SessionDriver(session)
        // Before the program gets the session and could run it itself.
        _ = session.orders.beginDriving(driver.wake)
        let watchers = state.withLock { state -> [FleetWatcher]? in
            guard !state.isOver else { return nil }
            state.sessions.append(session)
            return state.watchers.all
        }
        guard let watchers else {
            session.orders.endDriving()
            session.stop()
            return session
        }
        for watcher in watchers { watcher.watch(session) }
        adder.yield(driver)
        return session
    }

    /// Ends a session cleanly and removes it from the fleet; returns when its link is down, after a bounded time.
    /// If it is kept for later runs of the program, the plan stored for its peripheral is forgotten; those of other
    /// sessions that run stay.
    ///
    /// In the session's own first steps on a link, and in a command of its queue, it returns immediately: they are
    /// cancelled, and the session ends after them. In those of another session, and in a closure of
    /// ``PairingAnswers``, cancellation ends the wait, but not the removal.
    public func remove(_ session: Session) async {
        session.stop()
        let mayWait = !session.endsAfterThis
        // The stored plan may be another session's.
        let forget: @Sendable () -> Void = { if session.plan.isKept { session.forget() } }
        await Session.wait(on: central.core.timeline) { done in
            let isHere = state.withLock { state in
                guard state.sessions.contains(where: { $0 === session }) else { return false }
                state.whenGone[ObjectIdentifier(session), default: []].append {
                    forget()
                    done()
                }
                return true
            }
            if !isHere { forget() }
            if !isHere || !mayWait { done() }
        }
    }

    // MARK: - Running

    /// Runs the sessions, each in a child task, until the fleet is stopped or the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await driver in additions {
                group.addTask {
                    await driver.session.run(driver)
                    // With a task that is cancelled, it may end before it is stopped below, and then isn't any more.
                    driver.session.stop()
                    self.ended(driver.session)
                }
            }
            // A cancelled task takes no more drivers, so from here on nobody may add one.
            stop()
            for session in self.sessions { session.stop() }
        }
        // Those that were added after the task was cancelled have never run, and whoever removes them waits.
        for session in sessions {
            session.orders.endDriving()
            session.stop()
            ended(session)
        }
        for watcher in state.withLock({ $0.watchers.removeAll() }) { watcher.finish() }
    }

    /// Ends all sessions cleanly; the fleet can't be used afterwards.
    func stop() {
        state.withLock { $0.isOver = true }
        adder.finish()
    }

    private func ended(_ session: Session) {
        let (actions, watchers) = state.withLock { state in
            state.sessions.removeAll { $0 === session }
            return (state.whenGone.removeValue(forKey: ObjectIdentifier(session)) ?? [], state.watchers.all)
        }
        for watcher in watchers { watcher.forget(session) }
        for action in actions { action() }
    }

    // MARK: - Watching

    /// Watches all sessions, including those added later, until the returned closure is called.
    func watch(_ watcher: FleetWatcher) -> @Sendable () -> Void {
        let (id, sessions, isOver) = state.withLock { state in
            (state.isOver ? 0 : state.watchers.add(watcher), state.sessions, state.isOver)
        }
        for session in sessions { watcher.watch(session) }
        // One that has left meanwhile would be kept for ever, and a later one may have its place in memory.
        let here = Set(self.sessions.map { ObjectIdentifier($0) })
        for session in sessions where !here.contains(ObjectIdentifier(session)) { watcher.forget(session) }
        if isOver { watcher.finish() }
        return {
            _ = self.state.withLock { $0.watchers.remove(id) }
            watcher.close()
        }
    }
}

extension Central {
    /// Runs a fleet while the closure runs, and then ends all its sessions cleanly.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; a failed session ends only its own streams.
    public func withFleet<Output>(_ body: (Fleet) async throws -> Output) async throws -> Output {
        let fleet = Fleet(self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await fleet.run() }
            do {
                let output = try await body(fleet)
                fleet.stop()
                try await group.waitForAll()
                return output
            } catch {
                fleet.stop()
                try? await group.waitForAll()
                throw error
            }
        }
    }
}
