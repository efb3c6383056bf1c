internal import Synchronization

/// One thread that waits for sockets and runs what others ask of it: the context on which a radio calls its receivers.
///
/// Each radio has a loop of its own rather than one for the process: the thread ends with the radio and the last of its
/// links, a slow receiver holds up one adapter and not the others, and a simulated radio beside it needs none.
/// No lock is held while a handler or a job runs, so these may call back into the loop.
package final class EventLoop: Sendable {
    /// What is called when a descriptor is ready; the buffer is the loop's own, for the duration of the call.
    package typealias Handler = @Sendable (Readiness, ReceiveBuffer) -> Void

    private let core: EventLoopCore

    /// Starts the thread. The name is shown by `ps` and debuggers, 15 octets at most.
    package init(name: String, on kernel: Kernel = .ofThisMachine) throws(SystemError) {
        core = try EventLoopCore(on: kernel)
        try startThread(named: name, on: kernel) { [core] in core.run() }
    }

    deinit { core.stop() }

    /// Runs a closure on the loop's thread, after those that were handed over before.
    package func enqueue(_ job: @escaping @Sendable () -> Void) { core.enqueue(.closure(job)) }

    /// The same, for a closure that reads from a socket.
    func enqueueReceiving(_ job: @escaping @Sendable (ReceiveBuffer) -> Void) { core.enqueue(.receiving(job)) }

    /// Runs a part of a task on the loop's thread; the loop is held until it is done.
    func enqueueTask(_ job: UnownedJob) { core.enqueue(.task(job, self)) }

    /// Calls the handler on the loop's thread whenever the descriptor is ready, or at its end.
    func register(
        _ descriptor: borrowing FileDescriptor,
        for interest: Readiness,
        _ handler: @escaping Handler
    ) throws(SystemError) -> Registration {
        try core.register(descriptor, for: interest, handler)
    }

    /// Changes what is waited for.
    func change(
        _ registration: Registration,
        of descriptor: borrowing FileDescriptor,
        to interest: Readiness
    ) throws(SystemError) {
        try core.change(registration, of: descriptor, to: interest)
    }

    /// Stops waiting; on the loop's thread no call comes afterwards, from another one under way may still finish.
    func unregister(_ registration: Registration, of descriptor: borrowing FileDescriptor) {
        core.unregister(registration, of: descriptor)
    }

    /// A descriptor's place in the loop; never used twice, so an event that comes late meets nobody.
    struct Registration: Hashable, Sendable { fileprivate(set) var token: UInt64 }
}

/// What is handed over to the loop's thread; cases, since a closure around a closure would be one more block of memory.
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

/// What the loop's thread works on; it outlives the ``EventLoop`` by the turn in which that is let go.
private final class EventLoopCore: Sendable {
    private struct State {
        var handlers: [UInt64: EventLoop.Handler] = [:]
        var nextToken: UInt64 = 1
        var jobs: [LoopJob] = []
        var isStopping = false
        /// Whether the thread looks at the jobs before it waits again, so that nobody has to wake it.
        var isAwake = false
    }

    private static let wakeToken: UInt64 = 0
    /// The jobs whose memory is kept for those that follow; a burst is no reason to keep more for ever.
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
        // The handler is let go outside the lock: what it holds may end with it, and call back here.
        _ = state.withLock { $0.handlers.removeValue(forKey: registration.token) }
    }

    func run() {
        let buffer = ReceiveBuffer()
        var ready: [(token: UInt64, readiness: Readiness)] = []
        var jobs: [LoopJob] = []
        while true {
            // `EBADF` and the like can't happen while this object lives; there would be nothing to wait for.
            guard (try? readiness.wait(into: &ready)) != nil else { return }
            state.withLock { $0.isAwake = true }
            for event in ready {
                if event.token == Self.wakeToken {
                    wake.clearSignals()
                } else if let handler = state.withLock({ $0.handlers[event.token] }) {
                    handler(event.readiness, buffer)
                }
            }
            if !run(&jobs, buffer) { return }
        }
    }

    /// Runs what has been handed over; `false` once the loop is to end.
    ///
    /// - Parameter jobs: none; its memory is that of the jobs that come next.
    private func run(_ jobs: inout [LoopJob], _ buffer: ReceiveBuffer) -> Bool {
        let isStopping = state.withLock { state in
            swap(&state.jobs, &jobs)
            if jobs.isEmpty { state.isAwake = false }
            return state.isStopping
        }
        guard !jobs.isEmpty else { return !isStopping }
        for job in jobs { job.run(buffer) }
        if jobs.count > Self.keptJobs { jobs = [] }
        // There mostly is one, for which this takes half of what `removeAll(keepingCapacity:)` does.
        while jobs.popLast() != nil {}
        // What came meanwhile has its turn after the sockets, which may be ready again.
        let isMore = state.withLock { state in
            state.isAwake = !state.jobs.isEmpty
            return state.isAwake
        }
        if isMore { wake.signal() }
        return !isStopping
    }
}
