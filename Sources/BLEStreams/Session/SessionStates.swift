import BLEProtocol
import BLERadio
import Synchronization

/// The machine of one session behind a lock, and its watchers.
final class SessionStates: Sendable {
    /// Each returns whether a state is the awaited one.
    private typealias Waiters = Observers<@Sendable (SessionState?) -> Bool>

    private struct State {
        var machine: ConnectionMachine
        var last: SessionStep
        /// The last failure since the session was ready, unless its cause is known to be gone. In a box, since it is
        /// rare: the error is larger than all else here.
        var trouble: (any Error)?
        var watchers = Observers<@Sendable (SessionStep) -> Void>()
        var waiters = Waiters()
        /// Whether the session has ended: nobody waits for a state of it then.
        var isOver = false
    }

    private let timeline: any Timeline
    private let state: Mutex<State>
    private let news = Announcements()

    init(_ machine: ConnectionMachine, timeline: any Timeline) {
        self.timeline = timeline
        let first = SessionStep(state: machine.state, previous: nil, cause: nil, object: "", time: timeline.now)
        state = Mutex(State(machine: machine, last: first))
    }

    var current: SessionState { state.withLock { $0.machine.state } }

    /// Whether the session has failed because its own adapter is lost: an error's code may be about another one.
    var hasFailedForAdapter: Bool {
        state.withLock { state in
            guard state.last.state.kind == .failed, case .adapterLost? = state.last.cause else { return false }
            return true
        }
    }

    /// Whether the program has disconnected, so that nothing begins by itself.
    var isHeld: Bool { state.withLock { $0.machine.isHeld } }

    /// Lets it begin by itself again.
    func release() { state.withLock { $0.machine.release() } }

    /// What a caller waits for while the session isn't ready, and what keeps it from that.
    var whyNotReady: SessionPatience.Wait {
        let (now, isHeld, trouble) = state.withLock { ($0.machine.state, $0.machine.isHeld, $0.trouble) }
        // The names of these say what it has done.
        let isPreparing = [.idle, .servicesReady, .discoveredCharacteristic, .notificationsEnabled].contains(now.kind)
        let words =
            if isPreparing {
                "it is preparing its link (\(now))"
            } else {
                // The state tells the end of the link slightly later.
                now.isReady ? "its link is ending" : "it is \(now)"
            }
        var wait = SessionPatience.Wait(cause: "it was not ready", why: words)
        if case .disconnected(.initial) = now {
            wait.why = isHeld ? "the program has disconnected it" : "it is not being run"
            wait.remedy = isHeld ? "Call `Session.connect()` to continue." : "Call `Session.run()` in another task."
        } else if let trouble = trouble as? BLEError {
            wait.remedy = trouble.remedy.isEmpty ? nil : trouble.remedy
            switch now {
            // The words include the adapter's state.
            case .disconnected(.waitingToReconnect(_, .adapter)): break
            default: wait.why = "\(words), and has failed before: \(trouble.cause)"
            }
        } else if isPreparing {
            wait.remedy = "Let pairing and the first steps on the link end first, or allow more time."
        }
        return wait
    }

    /// What is known to be wrong with a session that isn't ready.
    private static func trouble(
        behind trigger: SessionState.Trigger,
        in state: SessionState,
        former: (any Error)?
    ) -> (any Error)? {
        switch trigger {
        case .disconnect, .reset, .adapterReturned: return nil
        // Of one operation or one stream.
        case .operationFailed, .subscriptionRefused: return former
        default:
            if state.isReady { return nil }
            if let error = trigger.error { return error }
            return former
        }
    }

    /// Lets the machine make a transition. ``tell()`` reports each one to all watchers; none is merged away.
    ///
    /// - Parameters:
    ///   - object: the session, if the trigger's error lacks an object.
    ///   - forgetsPeer: whether the machine is to decide, and go on, as if the peer were not known. An illegal trigger
    ///     changes nothing.
    @discardableResult
    func handle(
        _ trigger: SessionState.Trigger,
        about object: String = "",
        forgettingPeer forgetsPeer: Bool = false
    ) throws(SessionState.IllegalTrigger) -> [SessionEffect] {
        let random = timeline.randomBits()
        let now = timeline.now
        let result: Result<[SessionEffect], SessionState.IllegalTrigger> =
            state.withLock { state in
                let (previous, isPeerKnown) = (state.machine.state, state.machine.isPeerKnown)
                if forgetsPeer { state.machine.isPeerKnown = false }
                do throws(SessionState.IllegalTrigger) {
                    let effects = try state.machine.handle(trigger, random: random, now: now, about: object)
                    let new = state.machine.state
                    state.last = SessionStep(state: new, previous: previous, cause: trigger, object: object, time: now)
                    state.trouble = Self.trouble(behind: trigger, in: new, former: state.trouble)
                    news.add { [self, watchers = state.watchers.all, step = state.last] in
                        for watcher in watchers { watcher(step) }
                        askWaiters(about: new)
                    }
                    return .success(effects)
                } catch {
                    state.machine.isPeerKnown = isPeerKnown
                    return .failure(error)
                }
            }
        return try result.get()
    }

    /// Reports the transitions made, in order; to be called without a lock.
    func tell() { news.make() }

    /// Adds a call to follow the report of the last transition.
    func add(_ call: @escaping @Sendable () -> Void) { news.add(call) }

    /// The session begins, perhaps again.
    func begin() { state.withLock { $0.isOver = false } }

    /// The session has ended: who waits for a state of it, now or later, is told.
    func end() {
        state.withLock { state in
            state.isOver = true
            news.add { self.askWaiters(about: nil) }
        }
        news.make()
    }

    private func askWaiters(about new: SessionState?) {
        for (id, isWhatItWaitsFor) in state.withLock({ $0.waiters.numbered }) where isWhatItWaitsFor(new) {
            _ = state.withLock { $0.waiters.remove(id) }
        }
    }

    /// Passes the last transition immediately, then each one, until the returned closure is called.
    func watch(_ watcher: @escaping @Sendable (SessionStep) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            news.add { [last = state.last] in watcher(last) }
            return state.watchers.add(watcher)
        }
        news.make()
        return { _ = self.state.withLock { $0.watchers.remove(id) } }
    }

    /// Calls the closure with the present state, and with each following one until it returns true, or until the
    /// returned closure is called; with `nil` if the session has ended.
    func wait(for isWhatItWaitsFor: @escaping @Sendable (SessionState?) -> Bool) -> @Sendable () -> Void {
        let (id, now) = state.withLock { state in
            (state.waiters.add(isWhatItWaitsFor), state.isOver ? nil : state.machine.state)
        }
        let remove: @Sendable () -> Void = { _ = self.state.withLock { $0.waiters.remove(id) } }
        if isWhatItWaitsFor(now) { remove() }
        return remove
    }
}
