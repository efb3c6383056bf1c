@preconcurrency internal import Dispatch
internal import Synchronization

/// The state of the watch over a run that may have to be given up.
struct VirtualTimeWatch: Sendable {
    /// The task that waits for the verdict.
    var waiter: CheckedContinuation<VirtualTimeError.Kind?, Never>?

    /// The verdict: why the run is given up; the body has been cancelled, or is about to be.
    var verdict: VirtualTimeError.Kind?

    /// Whether the body has been cancelled since.
    var isCancelled = false

    /// Whether a real-time timer watches a rest.
    var isLooking = false

    /// When virtual time last advanced, in virtual and real time, and how many rounds of jobs ago.
    var progress: (virtual: Duration, real: ContinuousClock.Instant, rounds: Int)?

    /// From this many rounds of jobs at one moment of virtual time on, the run is stuck. Counted besides the real time:
    /// on a busy machine, hardly a job may run for seconds.
    static let patientRounds = 64
}

extension VirtualTime {
    private enum Event<Value: Sendable>: Sendable {
        case ended(Result<Value, any Error>)
        case watched(VirtualTimeError.Kind?)
    }

    /// Runs the body, and beside it a child task that waits for the verdict and cancels the body.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (VirtualTime) async throws -> Value
    ) async throws -> Value {
        let (result, verdict) = await withTaskGroup(of: Event<Value>.self) { group in
            group.addTask(executorPreference: self) { .ended(await self.outcome(of: body)) }
            group.addTask { .watched(await self.verdict()) }
            var result: Result<Value, any Error>?
            var verdict: VirtualTimeError.Kind?
            for await event in group {
                switch event {
                case .ended(let outcome):
                    result = outcome
                case .watched(nil):
                    break
                case .watched(let kind?):
                    verdict = kind
                    group.cancelAll()
                    goOnAfterVerdict(kind)
                }
            }
            return (result, verdict)
        }
        guard let kind = verdict else {
            guard let result else { preconditionFailure("the group ended without its first task") }
            return try result.get()
        }
        var error = VirtualTimeError(kind: kind, seed: seed, elapsed: now, bodyError: nil)
        if case .failure(let bodyError) = result { error.bodyError = bodyError }
        throw error
    }

    private func outcome<Value: Sendable>(
        of body: @Sendable (VirtualTime) async throws -> Value
    ) async -> Result<Value, any Error> {
        let result: Result<Value, any Error>
        do { result = .success(try await body(self)) } catch { result = .failure(error) }
        end()
        return result
    }

    private func end() {
        for case .wake(let sleeper) in scheduler.withLock({ $0.end() }) {
            sleeper.wake(throwing: CancellationError())
        }
        for ending in takeEndings() { ending() }
        let waiter = watch.withLock { watch in
            defer { watch.waiter = nil }
            return watch.waiter
        }
        waiter?.resume(returning: nil)
    }

    // MARK: - The verdict

    private func verdict() async -> VirtualTimeError.Kind? {
        await withCheckedContinuation { continuation in
            // Checked under the watch's lock: a body that ends meanwhile either finds the waiter or is found to have
            // ended.
            let (isDecided, early) = watch.withLock { watch -> (Bool, VirtualTimeError.Kind?) in
                let isDecided = watch.verdict != nil || scheduler.withLock { $0.hasEnded }
                if !isDecided { watch.waiter = continuation }
                return (isDecided, watch.verdict)
            }
            if isDecided { continuation.resume(returning: early) }
        }
    }

    /// Gives up the run: the first time it cancels the body, the second time it can only stop the process.
    func giveUp(_ kind: VirtualTimeError.Kind) {
        let (isHopeless, waiter) = watch.withLock { watch in
            let waiter = watch.waiter
            watch.waiter = nil
            if watch.verdict == nil { watch.verdict = kind }
            return (watch.isCancelled, waiter)
        }
        if isHopeless {
            fatalError(
                "virtual time: the body was cancelled and does not end: it ignores cancellation. "
                    + "\(kind.rawValue), at \(now), with seed \(seed)"
            )
        }
        waiter?.resume(returning: kind)
    }

    private func goOnAfterVerdict(_ kind: VirtualTimeError.Kind) {
        watch.withLock { watch in
            watch.isCancelled = true
            watch.progress = nil
        }
        switch kind {
        case .limitReached:
            // Allows an hour to clean up; the clock stood still until the body was cancelled.
            scheduler.withLock { $0.extendLimit(by: .seconds(3600)) }
            release()
        case .stalled:
            watchRest()
        case .spinning:
            break
        }
    }

    // MARK: - Dead ends

    /// Checks after `patience` whether the rest has lasted all that time.
    func watchRest() {
        let (mustLook, rests) = (
            watch.withLock { watch in
                defer { watch.isLooking = true }
                return !watch.isLooking
            },
            scheduler.withLock { $0.rests }
        )
        guard mustLook else { return }
        queue.asyncAfter(deadline: .now() + patience.dispatchInterval) { [weak self] in self?.look(at: rests) }
    }

    private func look(at rests: UInt64) {
        watch.withLock { $0.isLooking = false }
        let (isAtRest, isSameRest) = scheduler.withLock { ($0.isAtRest, $0.rests == rests) }
        guard isAtRest else { return }
        if isSameRest { giveUp(.stalled) } else { watchRest() }
    }

    /// Checks whether time passes while jobs keep running.
    func watchProgress() {
        let virtual = now
        let real = ContinuousClock.now
        let isSpinning = watch.withLock { watch in
            guard let progress = watch.progress, progress.virtual == virtual else {
                watch.progress = (virtual, real, 0)
                return false
            }
            guard progress.rounds >= VirtualTimeWatch.patientRounds,
                progress.real.duration(to: real) > patience * 12
            else {
                watch.progress?.rounds += 1
                return false
            }
            watch.progress = (virtual, real, 0)
            return true
        }
        if isSpinning { giveUp(.spinning) }
    }
}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        Int(exactly: max(self, .zero).attoseconds / 1_000_000_000_000_000).map { .milliseconds($0) } ?? .never
    }
}
