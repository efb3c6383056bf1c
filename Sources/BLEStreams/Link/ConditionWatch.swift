import BLEProtocol
import BLERadio
import Synchronization

/// Watches the conditions of one link, reports them, and carries out the ``LimitMachine`` if the link has limits. It
/// listens to the radio only while necessary.
final class ConditionWatch: Sendable {
    private struct State {
        var machine: LimitMachine?
        var timer: RadioActivity?
        /// Counts the timers: a replaced one is ignored.
        var starts = 0
        var listening: RadioActivity?
        var watchers: [Int: @Sendable (LinkConditions) -> Void] = [:]
        var nextWatcher = 0
        var isOver = false
    }

    private let radioLink: any ATTLink
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(_ radioLink: any ATTLink, timeline: any Timeline) {
        self.radioLink = radioLink
        self.timeline = timeline
    }

    /// Keeps the link within the limits of these parameters from now on, if they have limits.
    ///
    /// - Parameter haveBeenAskedFor: whether the parameters were already requested.
    func keep(_ parameters: ConnectionParameters?, haveBeenAskedFor: Bool = false) {
        let machine = LimitMachine(parameters)
        let isOver = state.withLock { state in
            if !state.isOver { state.machine = machine }
            return state.isOver
        }
        startsOver()?.cancel()
        guard machine != nil, !isOver else { return }
        listen()
        radioLink.readConditions { [weak self] conditions in
            self?.perform { haveBeenAskedFor ? $0.asked(conditions) : $0.saw(conditions) }
        }
    }

    /// Stops enforcing limits; returns the parameters they came from.
    func letGo() -> ConnectionParameters? {
        let former = state.withLock { $0.machine?.parameters }
        keep(nil)
        return former
    }

    /// The conditions, with the present breach of the limits.
    func judge(_ conditions: LinkConditions) -> LinkConditions {
        var conditions = conditions
        conditions.breach = state.withLock { $0.machine?.breach }
        return conditions
    }

    /// Reports changes of the conditions and of the breach from now on, until the returned closure is called.
    func watch(_ events: @escaping @Sendable (LinkConditions) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = events
            return state.nextWatcher
        }
        listen()
        return { [weak self] in _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) } }
    }

    /// The link has ended.
    func end() {
        let ended = state.withLock { state in
            defer { state = State(isOver: true) }
            return state
        }
        ended.timer?.cancel()
        ended.listening?.cancel()
    }

    // MARK: -

    private func listen() {
        guard state.withLock({ $0.listening == nil && !$0.isOver }) else { return }
        let activity = radioLink.observeConditions { [weak self] in self?.saw($0) }
        let surplus: RadioActivity? = state.withLock { state in
            guard state.listening == nil, !state.isOver else { return activity }
            state.listening = activity
            return nil
        }
        surplus?.cancel()
    }

    private func saw(_ conditions: LinkConditions) {
        perform { $0.saw(conditions) }
        tell(conditions)
    }

    /// The breach has changed, but not the conditions.
    private func tellOfVerdict() {
        radioLink.readConditions { [weak self] in self?.tell($0) }
    }

    private func tell(_ conditions: LinkConditions) {
        let judged = judge(conditions)
        for (_, watcher) in state.withLock({ $0.watchers }).sorted(by: { $0.key < $1.key }) { watcher(judged) }
    }

    private func perform(_ input: (inout LimitMachine) -> LimitMachine.Output) {
        let output: LimitMachine.Output? = state.withLock { state in
            guard var machine = state.machine else { return nil }
            defer { state.machine = machine }
            return input(&machine)
        }
        switch output?.timer {
        case .start(let delay): start(delay)
        case .cancel: startsOver()?.cancel()
        case nil: break
        }
        guard let parameters = output?.request else { return }
        radioLink.request(parameters) { [weak self] outcome in
            guard let self, case .failure(let error) = outcome else { return }
            perform { $0.refused(error) }
            tellOfVerdict()
        }
    }

    private func start(_ delay: Duration) {
        startsOver()?.cancel()
        let number = state.withLock { $0.starts }
        let timer = timeline.schedule(after: delay) { [weak self] in
            guard let self, state.withLock({ $0.starts }) == number else { return }
            perform { $0.timerFired() }
            tellOfVerdict()
        }
        let surplus: RadioActivity? = state.withLock { state in
            guard state.starts == number, !state.isOver else { return timer }
            state.timer = timer
            return nil
        }
        surplus?.cancel()
    }

    /// Makes the timer that runs a stale one.
    private func startsOver() -> RadioActivity? {
        state.withLock { state in
            state.starts += 1
            return state.timer.take()
        }
    }
}
