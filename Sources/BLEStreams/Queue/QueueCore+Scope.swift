import BLEProtocol
import BLERadio
import Synchronization

/// The scope that owns a queue: enqueued commands run in its child tasks, and none outlives it.
extension QueueCore {
    /// Runs the closure with the queue, then cancels the commands still in it, and ends a link that they made.
    func scope<Output>(_ body: (CommandQueue) async throws -> Output) async throws -> Output {
        jobs.open()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.serve() }
            do {
                let output = try await body(CommandQueue(core: self))
                await close(isCancelled: Task.isCancelled)
                return output
            } catch {
                await close(isCancelled: Task.isCancelled)
                throw error
            }
        }
    }

    /// Runs each enqueued command in a child task, until the queue is closed or the task cancelled.
    ///
    /// The caller opens ``jobs`` first, outside the task that runs this: the queue may close before that task begins.
    func serve() async {
        await withDiscardingTaskGroup { group in
            while let job = try? await jobs.next() { group.addTask { await job.run() } }
            for job in jobs.close() { job.abandon() }
        }
    }

    /// Puts a command into the queue at once; it runs in a child task of the scope.
    func enqueue<C: Command>(
        _ command: C,
        _ decorators: [any CommandQueue.Decorator],
        _ priority: CommandQueue.Priority,
        _ deadline: Duration?
    ) -> CommandQueue.Handle<C.Output> {
        let watch = CommandWatch<C.Output>()
        guard let place = enter(command.name, priority, deadline, { watch.tell($0) }) else {
            watch.finish(.failure(over(command.name)))
            return CommandQueue.Handle(id: 0, name: command.name, core: self, watch: watch)
        }
        let isTaken = Ending<Void>()
        let job = QueueJobs.Job(id: place.id) {
            isTaken.end()
            do {
                watch.finish(.success(try await self.work(command, decorators, place)))
            } catch {
                watch.finish(.failure(error))
            }
        } abandon: {
            isTaken.end()
            self.ended(place.id, .cancelled)
            watch.finish(.failure(CancellationError()))
        }
        if jobs.add(job) {
            endEarly(place, unless: isTaken) { watch.finish(.failure($0)) }
        } else if case .session = connection.source {
            // Nobody has cancelled it: the session was run, and isn't now.
            let error = over(place.name)
            ended(place.id, .failed(error))
            watch.finish(.failure(error))
        } else {
            job.abandon()
        }
        return CommandQueue.Handle(id: place.id, name: place.name, core: self, watch: watch)
    }

    /// Ends a command that is cancelled, or whose deadline passes, before somebody takes it: nobody does while its
    /// session isn't run.
    private func endEarly(
        _ place: Place,
        unless isTaken: Ending<Void>,
        _ told: @escaping @Sendable (any Error) -> Void
    ) {
        // Without the place, whose wish keeps this closure.
        let end: @Sendable (any Error) -> Void = { [weak self, id = place.id] reason in
            isTaken.end()
            guard let self, jobs.withdraw(id) else { return }
            ended(id, reason is CancellationError ? .cancelled : .failed(reason))
            told(reason)
        }
        place.wish.whenEnded(end)
        guard let deadline = place.deadline, !isTaken.hasEnded else { return }
        isTaken.cancel(
            timeline.schedule(after: max(.zero, deadline.end - timeline.now)) { [weak self, name = place.name] in
                if let self { end(missed(deadline.limit, name, isRunning: false)) }
            }
        )
    }

    // MARK: - The end

    /// Admits no more commands, cancels those in the queue, and ends the link.
    ///
    /// - Parameter isCancelled: whether the end is the cancellation of who runs the queue.
    func close(isCancelled: Bool = false) async {
        let timer = state.withLock { state in
            state.isClosed = true
            state.idleTimer.number += 1
            return state.idleTimer.activity.take()
        }
        timer?.cancel()
        await empty(isCancelled: isCancelled)
        jobs.finish()
        await connection.take()?.close()
        await state.withLock { $0.idleLink.take() }?.close()
        endWatching()
    }

    private func endWatching() {
        state.withLock { state in
            state.isOver = true
            news.add { [watchers = state.watchers.all, followers = state.progressWatchers.all] in
                for watcher in watchers { watcher.finish() }
                for follower in followers { follower.finish() }
            }
        }
        news.make()
    }

    /// Cancels the commands in the queue, and waits until they have ended; meanwhile it admits no others.
    func empty(isCancelled: Bool = false) async {
        let wishes = state.withLock { state in
            state.isEmptying = true
            return state.wishes
        }
        for (id, wish) in wishes.sorted(by: { $0.key < $1.key }) {
            let end = over(state.withLock { $0.items[id]?.name } ?? "command")
            wish.end(isCancelled ? CancellationError() : end)
        }
        await undisturbedReply(on: timeline) { finish in
            let isEmpty = state.withLock { state in
                if !state.items.isEmpty { state.whenEmpty = { finish(()) } }
                return state.items.isEmpty
            }
            if isEmpty { finish(()) }
            return {}
        }
        state.withLock { $0.isEmptying = false }
    }

    /// Ends what is in the queue of a session that isn't run, or not again.
    func abandon() {
        state.withLock { $0.isClosed = true }
        for job in jobs.close() { job.abandon() }
        endWatching()
    }

    // MARK: - An idle link

    /// Schedules the end of an idle link, if a command has set an idle limit.
    func startIdleTimer() {
        guard let limit = connection.idleLimit else { return }
        let number: Int? = state.withLock { state in
            guard state.items.isEmpty, !state.isClosed else { return nil }
            state.idleTimer.number += 1
            return state.idleTimer.number
        }
        guard let number else { return }
        let timer = timeline.schedule(after: limit) { [weak self] in self?.idled(number) }
        let former: RadioActivity? = state.withLock { state in
            guard state.idleTimer.number == number else { return timer }
            defer { state.idleTimer.activity = timer }
            return state.idleTimer.activity
        }
        former?.cancel()
    }

    private func idled(_ number: Int) {
        let link: Link? = state.withLock { state in
            // Under the lock, so that a command that comes now makes a link of its own.
            guard state.idleTimer.number == number, state.items.isEmpty else { return nil }
            let link = connection.take()
            state.idleLink = link
            return link
        }
        link?.beginClosing()
    }
}
