@preconcurrency internal import Dispatch
internal import Synchronization

extension VirtualTime {
    /// Takes a job of a task that runs here. Called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if scheduler.withLock({ $0.add(job) }) { start() }
    }

    /// Runs the steps on the queue's thread; the scheduler ensures that this isn't requested twice.
    func start() {
        queue.async { [self] in takeSteps() }
    }

    /// Takes steps until none is left. Yields the thread now and then: parallel runs share few threads.
    private func takeSteps() {
        let executor = asUnownedTaskExecutor()
        for _ in 0..<4096 {
            switch scheduler.withLock({ $0.next() }) {
            case .run(let job):
                job.runSynchronously(on: executor)
            case .perform(.call(let body)):
                body()
            case .perform(.wake(let sleeper)):
                sleeper.wake()
            case .rest(let isFinal):
                if isFinal { watchRest() }
                return
            case .limitReached:
                giveUp(.limitReached)
                return
            }
        }
        watchProgress()
        start()
    }
}
