import BLEProtocol
import BLERadio
import Synchronization

/// The machine of one session behind a lock, and its watchers.
final class SessionStates: Sendable {
    /// Each returns whether a state is the awaited one.
    private typealias Waiters = Observers<@Sendable (SessionState) -> Bool>

    private struct State {
        var machine: ConnectionMachine
        var last: SessionStep
        var watchers = Observers<@Sendable (SessionStep) -> Void>()
        var waiters = Waiters()
    }

    private let timeline: any Timeline
    private let state: Mutex<State>

    init(_ machine: ConnectionMachine, timeline: any Timeline) {
        self.timeline = timeline
        let first = SessionStep(state: machine.state, previous: nil, cause: nil, time: timeline.now)
        state = Mutex(State(machine: machine, last: first))
    }

    var current: SessionState { state.withLock { $0.machine.state } }

    /// Whether the program has disconnected, so that nothing begins by itself.
    var isHeld: Bool { state.withLock { $0.machine.isHeld } }

    /// Makes a transition, and tells all watchers; none is merged away.
    ///
    /// - Parameter adjust: updates the machine before it decides.
    @discardableResult
    func handle(
        _ trigger: SessionState.Trigger,
        after adjust: (inout ConnectionMachine) -> Void = { _ in }
    ) throws(SessionState.IllegalTrigger) -> [SessionEffect] {
        let random = timeline.randomBits()
        let now = timeline.now
        let result: Result<([SessionEffect], SessionState, Waiters), SessionState.IllegalTrigger> =
            state.withLock { state in
                adjust(&state.machine)
                let previous = state.machine.state
                do throws(SessionState.IllegalTrigger) {
                    let effects = try state.machine.handle(trigger, random: random, now: now)
                    let new = state.machine.state
                    state.last = SessionStep(state: new, previous: previous, cause: trigger, time: now)
                    // Under the lock, so that all watchers see one order.
                    for watcher in state.watchers.all { watcher(state.last) }
                    return .success((effects, new, state.waiters))
                } catch {
                    return .failure(error)
                }
            }
        let (effects, new, waiters) = try result.get()
        for (id, isWhatItWaitsFor) in waiters.numbered where isWhatItWaitsFor(new) {
            _ = self.state.withLock { $0.waiters.remove(id) }
        }
        return effects
    }

    /// Passes the last transition immediately, then each one, until the returned closure is called.
    func watch(_ watcher: @escaping @Sendable (SessionStep) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            watcher(state.last)
            return state.watchers.add(watcher)
        }
        return { _ = self.state.withLock { $0.watchers.remove(id) } }
    }

    /// Calls the closure with the present state, and with each following one until it returns true, or until the
    /// returned closure is called.
    func wait(for isWhatItWaitsFor: @escaping @Sendable (SessionState) -> Bool) -> @Sendable () -> Void {
        let (id, now) = state.withLock { state in
            (state.waiters.add(isWhatItWaitsFor), state.machine.state)
        }
        let remove: @Sendable () -> Void = { _ = self.state.withLock { $0.waiters.remove(id) } }
        if isWhatItWaitsFor(now) { remove() }
        return remove
    }
}
