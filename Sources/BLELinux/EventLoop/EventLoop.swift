internal import BLERadio
internal import Synchronization

/// One thread that waits for sockets and runs the closures passed to it: the context on which a radio calls its
/// receivers.
///
/// Each radio has its own loop rather than one for the process: the thread ends with the radio and the last of its
/// links, a slow receiver holds up one adapter and not the others, and a simulated radio needs none. No lock is held
/// while a handler or a job runs, so they may call back into the loop.
package final class EventLoop: Sendable {
    /// Called when a descriptor is ready; the buffer belongs to the loop, and is lent for the duration of the call.
    package typealias Handler = @Sendable (Readiness, ReceiveBuffer) -> Void

    private let core: EventLoopCore

    /// Starts the thread. `ps` and debuggers show the name, 15 octets at most.
    package init(name: String, on kernel: Kernel = .ofThisMachine) throws(SystemError) {
        core = try EventLoopCore(on: kernel)
        try startThread(named: name, on: kernel) { [core] in core.run() }
    }

    deinit { core.stop() }

    /// Runs a closure on the loop's thread, after those that were added before.
    package func enqueue(_ job: @escaping @Sendable () -> Void) { core.enqueue(.closure(job)) }

    /// Runs a closure that reads from a socket on the loop's thread, in the same order.
    func enqueueReceiving(_ job: @escaping @Sendable (ReceiveBuffer) -> Void) { core.enqueue(.receiving(job)) }

    /// Runs a closure that reads from a socket on the loop's thread, after a delay, if the loop is still there.
    ///
    /// Real time is the loop's own: the thread wakes up by itself, where a timer of another thread would take three.
    /// Any other time is the timeline's.
    func scheduleReceiving(
        after delay: Duration,
        _ timeline: any Timeline,
        _ job: @escaping @Sendable (ReceiveBuffer) -> Void
    ) -> RadioActivity {
        guard timeline is RealTimeline else {
            return timeline.schedule(after: delay) { self.enqueueReceiving(job) }
        }
        let number = core.schedule(at: timeline.now + delay, job)
        return RadioActivity { [core] in core.cancelTimer(number) }
    }

    /// Runs a part of a task on the loop's thread; the loop is retained until it is done.
    func enqueueTask(_ job: UnownedJob) { core.enqueue(.task(job, self)) }

    /// Calls the handler on the loop's thread whenever the descriptor is ready, or at its end.
    func register(
        _ descriptor: borrowing FileDescriptor,
        for interest: Readiness,
        _ handler: @escaping Handler
    ) throws(SystemError) -> Registration {
        try core.register(descriptor, for: interest, handler)
    }

    /// Changes what the loop waits for.
    func change(
        _ registration: Registration,
        of descriptor: borrowing FileDescriptor,
        to interest: Readiness
    ) throws(SystemError) {
        try core.change(registration, of: descriptor, to: interest)
    }

    /// Stops waiting. On the loop's thread no call comes afterwards; when called from another thread, a call already
    /// under way may still finish.
    func unregister(_ registration: Registration, of descriptor: borrowing FileDescriptor) {
        core.unregister(registration, of: descriptor)
    }

    /// A descriptor's registration with the loop; never reused, so a late event finds no handler.
    struct Registration: Hashable, Sendable { fileprivate(set) var token: UInt64 }
}

/// Work for the loop's thread; an enumeration, since a closure around a closure would take one more allocation.
private enum LoopJob: Sendable {
    case closure(@Sendable () -> Void)
    case receiving(@Sendable (ReceiveBuffer) -> Void)
    case task(UnownedJob, EventLoop)

    func run(_ buffer: ReceiveBuffer) {
        switch self {
        case .closure(let body): body()
        case .receiving(let body): body(buffer)
        case .task(let job, let loop): job.runSynchronously(on: loop.asUnownedTaskExecutor())
        }
    }
}

/// The state of the loop's thread; it outlives the ``EventLoop`` until the end of the turn in which that is released.
private final class EventLoopCore: Sendable {
    private struct State {
        var handlers: [UInt64: EventLoop.Handler] = [:]
        var nextToken: UInt64 = 1
        var jobs: [LoopJob] = []
        /// What is to be done when, in real time; few at a time.
        var timers: [(number: UInt64, time: Duration, job: @Sendable (ReceiveBuffer) -> Void)] = []
        var nextTimer: UInt64 = 0
        var isStopping = false
        /// Whether the thread will check the jobs before it waits again, so that nobody has to wake it.
        var isAwake = false
    }

    private static let wakeToken: UInt64 = 0
    /// How many jobs' memory is kept for later ones, so that a burst doesn't keep more for ever.
    private static let keptJobs = 256

    private let readiness: FileDescriptor
    private let wake: FileDescriptor
    private let state = Mutex(State())

    init(on kernel: Kernel) throws(SystemError) {
        let readiness = try FileDescriptor.readinessSet(of: kernel)
        let wake = try FileDescriptor.eventCounter(of: kernel)
        try readiness.add(wake, for: .readable, token: Self.wakeToken)
        self.readiness = readiness
        self.wake = wake
    }

    func enqueue(_ job: LoopJob) {
        let mustWake = state.withLock { state in
            state.jobs.append(job)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if mustWake { wake.signal() }
    }

    func schedule(at time: Duration, _ job: @escaping @Sendable (ReceiveBuffer) -> Void) -> UInt64 {
        let (number, mustWake) = state.withLock { state in
            state.nextTimer += 1
            state.timers.append((state.nextTimer, time, job))
            defer { state.isAwake = true }
            return (state.nextTimer, !state.isAwake)
        }
        if mustWake { wake.signal() }
        return number
    }

    func cancelTimer(_ number: UInt64) {
        let job = state.withLock { state in
            state.timers.firstIndex { $0.number == number }.map { state.timers.remove(at: $0).job }
        }
        // Released outside the lock, as a handler is.
        withExtendedLifetime(job) {}
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        wake.signal()
    }

    func register(
        _ descriptor: borrowing FileDescriptor,
        for interest: Readiness,
        _ handler: @escaping EventLoop.Handler
    ) throws(SystemError) -> EventLoop.Registration {
        let token = state.withLock { state in
            defer { state.nextToken += 1 }
            state.handlers[state.nextToken] = handler
            return state.nextToken
        }
        do {
            try readiness.add(descriptor, for: interest, token: token)
        } catch {
            _ = state.withLock { $0.handlers.removeValue(forKey: token) }
            throw error
        }
        return EventLoop.Registration(token: token)
    }

    func change(
        _ registration: EventLoop.Registration,
        of descriptor: borrowing FileDescriptor,
        to interest: Readiness
    ) throws(SystemError) {
        try readiness.change(descriptor, to: interest, token: registration.token)
    }

    func unregister(_ registration: EventLoop.Registration, of descriptor: borrowing FileDescriptor) {
        try? readiness.remove(descriptor)
        // The handler is released outside the lock: what it holds may be deallocated with it, and call back here.
        _ = state.withLock { $0.handlers.removeValue(forKey: registration.token) }
    }

    func run() {
        let buffer = ReceiveBuffer()
        var ready: [(token: UInt64, readiness: Readiness)] = []
        var jobs: [LoopJob] = []
        var next = Next()
        while true {
            let limit = next.hasJobs ? 0 : next.hasTimers ? timeToNextTimer : -1
            // `EBADF` and the like can't happen while this object lives; then there would be nothing to wait for.
            guard (try? readiness.wait(into: &ready, milliseconds: limit)) != nil else { return }
            let hasTimers = state.withLock { state in
                state.isAwake = true
                return !state.timers.isEmpty
            }
            for event in ready {
                if event.token == Self.wakeToken {
                    wake.clearSignals()
                } else if let handler = state.withLock({ $0.handlers[event.token] }) {
                    handler(event.readiness, buffer)
                }
            }
            if hasTimers { for job in dueTimers { job(buffer) } }
            next = run(&jobs, buffer)
            if next.isEnd { return }
        }
    }

    /// What the thread does next.
    private struct Next {
        /// Whether there are jobs that came meanwhile.
        var hasJobs = false
        var hasTimers = false
        var isEnd = false
    }

    /// How long the thread may wait, in milliseconds, rounded up: a wait that ended too soon would only be made again.
    private var timeToNextTimer: Int32 {
        guard let next = state.withLock({ $0.timers.map(\.time).min() }) else { return -1 }
        let (seconds, attoseconds) = max(.zero, next - RealTimeline().now).components
        // Longer than a day is waited for in parts.
        if seconds > 86_400 { return 86_400_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Takes out the jobs whose time has come, in the order of their times.
    private var dueTimers: [@Sendable (ReceiveBuffer) -> Void] {
        let now = RealTimeline().now
        return state.withLock { state in
            let due = state.timers.filter { $0.time <= now }
            if !due.isEmpty { state.timers.removeAll { $0.time <= now } }
            return due.sorted { $0.time < $1.time }.map(\.job)
        }
    }

    /// Runs the added jobs.
    ///
    /// - Parameter jobs: empty; its memory is used for the next jobs.
    private func run(_ jobs: inout [LoopJob], _ buffer: ReceiveBuffer) -> Next {
        var next = state.withLock { state in
            swap(&state.jobs, &jobs)
            if jobs.isEmpty { state.isAwake = false }
            return Next(hasTimers: !state.timers.isEmpty, isEnd: state.isStopping)
        }
        guard !jobs.isEmpty else { return next }
        for job in jobs { job.run(buffer) }
        if jobs.count > Self.keptJobs { jobs = [] }
        // Mostly there is one, for which this takes half the time of `removeAll(keepingCapacity:)`.
        while jobs.popLast() != nil {}
        // Jobs that came meanwhile run after the sockets, which may be ready again: those are only looked at then,
        // which takes one system call and not three.
        state.withLock { state in
            state.isAwake = !state.jobs.isEmpty
            next.hasJobs = state.isAwake
            next.hasTimers = !state.timers.isEmpty
        }
        return next
    }
}
