public import BLEProtocol
public import BLERadio
@preconcurrency internal import Dispatch
internal import Synchronization

/// Time that passes only when no job is runnable: tests of hours run in milliseconds, and always the same way.
///
/// ```swift
/// try await VirtualTime.run(seed: 7) { time in
///     let air = SimulatedAir(time)
///     …
///     try await time.sleep(for: .seconds(3600))       // takes no real time
/// }
/// ```
///
/// It is a task executor: the body, its child tasks and the actors they call run on it, one job at a time. If several
/// jobs are runnable, the seed chooses; ``randomBits()`` uses the same seed. So a run with the same seed and the same
/// code is repeatable, and a seed that failed once always fails.
///
/// **When the clock advances.** Only when no job is runnable on this executor: then it jumps to the next timer. It
/// doesn't see jobs elsewhere: those on the main actor, on an actor with its own executor, in `Task { }` and
/// `Task.detached`, and real waiting such as `Task.sleep`, files and processes. Timers may fire meanwhile. Don't use
/// these in the body, or wrap them in ``holding(_:)``, which stops the clock.
///
/// **When a run is given up.** When nothing is runnable, no timer is left and the body hasn't ended, and this stays so
/// for `patience` of real time; when virtual time reaches `limit`; or when jobs run for twelve times `patience` without
/// time passing. Then the body is cancelled, and ``run(seed:order:limit:patience:_:)`` throws a ``VirtualTimeError``
/// once the body has ended. A body that doesn't end even then can't be abandoned: the process is stopped, with a
/// message that states the seed.
public final class VirtualTime: TaskExecutor, Timeline {
    /// The wall time at which every run begins: 2024-01-01 00:00:00 UTC.
    public static let beginning = ReceptionTime(sinceEpoch: .seconds(1_704_067_200), source: .simulation)

    /// The seed of this run.
    public let seed: UInt64

    let patience: Duration
    let scheduler: Mutex<VirtualScheduler>
    let watch = Mutex(VirtualTimeWatch())
    private let endings = Mutex<[@Sendable () -> Void]>([])
    let queue = DispatchQueue(label: "BLESimulator.VirtualTime")

    init(seed: UInt64, order: JobOrder, limit: Duration, patience: Duration) {
        self.seed = seed
        self.patience = patience
        scheduler = Mutex(VirtualScheduler(seed: seed, order: order, limit: limit))
    }

    /// Runs a body in virtual time, and returns what it returns.
    ///
    /// Work still scheduled when the body ends never runs; sleepers are then woken with `CancellationError`. Cancelling
    /// the calling task cancels the body.
    ///
    /// - Parameters:
    ///   - seed: determines the order of jobs, and all randomness.
    ///   - order: whether the seed chooses among runnable jobs, or the oldest runs first.
    ///   - limit: the virtual time after which the run is given up; one day by default.
    ///   - patience: the real time for which a run may be stalled before it is given up. Raise it for a body that waits
    ///     for the main actor or for real events.
    ///   - body: the code to run. It gets the time, to pass to a ``SimulatedAir`` and to sleep on.
    /// - Throws: what the body throws; ``VirtualTimeError`` if the run was given up.
    @concurrent
    public static func run<Value: Sendable>(
        seed: UInt64 = 1,
        order: JobOrder = .shuffled,
        limit: Duration = .seconds(86_400),
        patience: Duration = .seconds(30),
        _ body: @escaping @Sendable (VirtualTime) async throws -> Value
    ) async throws -> Value {
        try await VirtualTime(seed: seed, order: order, limit: limit, patience: patience).run(body)
    }

    /// The virtual time since the run began.
    public var now: Duration { scheduler.withLock { $0.now } }

    /// The virtual time as a date; see ``beginning``.
    public var wallTime: ReceptionTime {
        ReceptionTime(sinceEpoch: Self.beginning.sinceEpoch + now, source: .simulation)
    }

    /// The clock on which `async` code sleeps.
    public var clock: any Clock<Duration> { VirtualClock(time: self) }

    /// Sleeps in virtual time. Cancelling the task ends the sleep immediately.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        let clock = VirtualClock(time: self)
        try await clock.sleep(until: clock.now.advanced(by: duration))
    }

    /// Stops the clock while a closure runs: for work that leaves this executor, such as work on the main actor.
    ///
    /// Meanwhile no timer fires, and a stall isn't detected.
    public func holding<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        scheduler.withLock { $0.hold() }
        defer { release() }
        return try await work()
    }

    public func hold() -> RadioActivity {
        scheduler.withLock { $0.hold() }
        return RadioActivity { [self] in release() }
    }

    public func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        schedule(after: delay, .call(body))
    }

    public func randomBits() -> UInt64 { scheduler.withLock { $0.randomBits() } }

    /// How many timers are scheduled: an activity left behind keeps at least one.
    package var timerCount: Int { scheduler.withLock { $0.timerCount } }

    // MARK: - Timers

    func schedule(after delay: Duration, _ action: VirtualScheduler.Action) -> RadioActivity {
        guard let (id, mustStart) = scheduler.withLock({ $0.add(action, after: delay) }) else {
            if case .wake(let sleeper) = action { sleeper.wake(throwing: CancellationError()) }
            return RadioActivity {}
        }
        if mustStart { start() }
        return RadioActivity { [self] in _ = scheduler.withLock { $0.cancel(id) } }
    }

    /// Calls a closure when the run is over: time doesn't pass any more, and nothing that was scheduled happens.
    func whenOver(_ body: @escaping @Sendable () -> Void) { endings.withLock { $0.append(body) } }

    /// What was to be called when the run is over.
    func takeEndings() -> [@Sendable () -> Void] {
        endings.withLock { endings in
            defer { endings = [] }
            return endings
        }
    }

    func release() {
        if scheduler.withLock({ $0.release() }) { start() }
    }
}
