/// The state by which ``VirtualTime`` decides: the runnable jobs, the timers, the clock and the random generator. A
/// plain value.
struct VirtualScheduler: Sendable {
    typealias TimerID = UInt64

    /// What a timer does when it fires.
    enum Action: Sendable {
        case call(@Sendable () -> Void)
        case wake(Sleeper)
    }

    private enum Work: Sendable {
        case job(UnownedJob)
        case timer(TimerID)
    }

    /// What to do next.
    enum Step: Sendable {
        case run(UnownedJob)
        case perform(Action)
        /// Nothing can run now; `isFinal` if only something from outside can ever change that.
        case rest(isFinal: Bool)
        /// The next timer is beyond the limit; time stands still until the limit is extended.
        case limitReached
    }

    private let order: JobOrder
    private var choice: SeededRandom
    private var chance: SeededRandom
    private var ready = ReadyQueue<Work>()
    private var agenda = Agenda<TimerID>()
    private var timers: [TimerID: Action] = [:]
    /// Jobs that run late, by their identifiers on the agenda.
    private var lateJobs: [TimerID: UnownedJob] = [:]
    private var nextTimer: TimerID = 0
    private var holds = 0
    private var limit: Duration
    private var isAwake = false
    private(set) var hasEnded = false
    private(set) var now = Duration.zero

    /// How often it came to rest; distinguishes a long rest from several short ones.
    private(set) var rests: UInt64 = 0

    init(seed: UInt64, order: JobOrder, limit: Duration) {
        self.order = order
        self.limit = limit
        var root = SeededRandom(seed: seed)
        choice = SeededRandom(seed: root.next())
        chance = SeededRandom(seed: root.next())
    }

    /// How many scheduled timers have neither fired nor been cancelled.
    var timerCount: Int { timers.count }

    /// Whether nothing runs and nothing is held.
    var isAtRest: Bool { !isAwake && holds == 0 && !hasEnded }

    mutating func randomBits() -> UInt64 { chance.next() }

    // MARK: - What comes in; each answers whether somebody must start to take steps

    mutating func add(_ job: UnownedJob) -> Bool {
        if let delay = lateness() {
            lateJobs[nextTimer] = job
            agenda.insert(nextTimer, due: now + delay)
            nextTimer &+= 1
        } else {
            ready.append(.job(job))
        }
        return wakeUp()
    }

    /// How late a job runs; `nil`: as soon as it can.
    private mutating func lateness() -> Duration? {
        guard case .delayed(let limit) = order, !hasEnded, limit > .zero, choice.next() & 15 == 0 else { return nil }
        return limit * (Double(choice.next() >> 11) + 1) / Double(1 << 53)
    }

    mutating func add(_ action: Action, after delay: Duration) -> (id: TimerID, mustStart: Bool)? {
        guard !hasEnded else { return nil }
        let id = nextTimer
        nextTimer &+= 1
        timers[id] = action
        if delay <= .zero {
            ready.append(.timer(id))
        } else {
            agenda.insert(id, due: now + delay)
        }
        return (id, wakeUp())
    }

    /// Returns the action, so that it is released outside the lock.
    mutating func cancel(_ id: TimerID) -> Action? {
        let action = timers.removeValue(forKey: id)
        if agenda.count > 64, agenda.count > 2 * timers.count {
            let (timers, lateJobs) = (timers, lateJobs)
            agenda.removeAll { timers[$0] == nil && lateJobs[$0] == nil }
        }
        return action
    }

    mutating func hold() { holds += 1 }

    mutating func release() -> Bool {
        holds -= 1
        return wakeUp()
    }

    /// Lets time continue for this long after the limit was reached.
    mutating func extendLimit(by duration: Duration) { limit = now + duration }

    /// Removes and returns all timers. Late jobs run now.
    mutating func end() -> [Action] {
        hasEnded = true
        agenda.removeAll()
        for id in lateJobs.keys.sorted() { lateJobs[id].map { ready.append(.job($0)) } }
        lateJobs = [:]
        defer { timers = [:] }
        return timers.keys.sorted().compactMap { timers[$0] }
    }

    private mutating func wakeUp() -> Bool {
        defer { isAwake = true }
        return !isAwake
    }

    // MARK: - Steps

    /// The next step: a runnable job if there is one; only otherwise does the clock advance.
    mutating func next() -> Step {
        while true {
            switch pop() {
            case .job(let job):
                return .run(job)
            case .timer(let id):
                if let action = timers.removeValue(forKey: id) { return .perform(action) }
                if let job = lateJobs.removeValue(forKey: id) { return .run(job) }
            case nil:
                if holds > 0 || hasEnded { return rest(isFinal: false) }
                dropCancelled()
                guard let due = agenda.earliest else { return rest(isFinal: true) }
                if due > limit {
                    holds += 1
                    _ = rest(isFinal: false)
                    return .limitReached
                }
                advance(to: due)
            }
        }
    }

    private mutating func pop() -> Work? {
        switch order {
        case .shuffled, .delayed: ready.popAny(using: &choice)
        case .firstInFirstOut: ready.popFirst()
        }
    }

    private mutating func dropCancelled() {
        while let first = agenda.first, !isExpected(first) { _ = agenda.popFirst() }
    }

    private func isExpected(_ id: TimerID) -> Bool { timers[id] != nil || lateJobs[id] != nil }

    private mutating func advance(to due: Duration) {
        now = due
        while let (_, id) = agenda.popFirst(dueBy: due) { ready.append(.timer(id)) }
    }

    private mutating func rest(isFinal: Bool) -> Step {
        isAwake = false
        rests &+= 1
        return .rest(isFinal: isFinal)
    }
}
