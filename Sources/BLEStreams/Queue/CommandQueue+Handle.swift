import BLEProtocol
import BLERadio
import Synchronization

extension CommandQueue {
    /// A command that was put into a queue by ``CommandQueue/enqueue(_:priority:deadline:)-(C,_,_)``: it can be cancelled,
    /// awaited and watched.
    ///
    /// The command runs whether or not anybody keeps the handle or waits for it; the scope of the queue runs it, and ends it
    /// when the scope ends.
    ///
    /// ```swift
    /// let reading = queue.enqueue(.read(.batteryLevel))
    /// for try await state in reading.states { print(state) }
    /// print(try await reading.value)
    /// ```
    public struct Handle<Output: Sendable>: Sendable, Identifiable {
        /// Its number in ``CommandQueue/contents``; 0 where the queue was over.
        public let id: CommandQueue.Item.ID

        /// The ``Command/name`` of the command.
        public let name: String

        let core: QueueCore
        let watch: CommandWatch<Output>

        /// What the command returns, once it has ended; for any number of callers, also long after that.
        ///
        /// Cancelling a task that waits here ends its waiting alone: ``cancel()`` is what cancels the command.
        ///
        /// - Throws: what the command throws, as ``CommandQueue/run(_:priority:deadline:)-(C,_,_)`` does: `CancellationError`
        ///   too when the command was cancelled or the scope's task was, ``BLEError/Code/ended`` when the queue was over;
        ///   ``BLEError/Code/deadlock`` at once in a command of the same queue, unless this one has ended.
        public var value: Output {
            get async throws {
                if let result = watch.result { return try result.get() }
                if core.isInside { throw core.deadlock(name) }
                return try await reply(on: core.timeline) { finish in watch.whenFinished(finish) }
            }
        }

        /// Where it is now: waiting, running with its latest progress, or ended.
        public var state: CommandQueue.CommandState { watch.state }

        /// Where it is: at once, and then each change; ends behind ``CommandQueue/CommandState/ended(_:)``.
        ///
        /// A consumer that is slow gets the newest 256. Letting go of it doesn't cancel the command.
        public var states: BLEStream<CommandQueue.CommandState> {
            let watch = watch
            let subject = StreamSubject(operation: name, object: "on \(core.connection.object)")
            return BLEStream(subject, timeline: core.timeline, buffer: .newest(256)) { watch.add($0) }
        }

        /// Cancels the command, waiting or running: ``value`` then throws `CancellationError`.
        ///
        /// - Returns: whether it was in the queue still.
        @discardableResult
        public func cancel() -> Bool { core.cancel(id) }
    }

    /// Where a command that was enqueued is.
    public enum CommandState: Sendable {
        /// It waits for its turn.
        case waiting
        /// It runs, and has come so far; `nil` where it hasn't said.
        case running(CommandProgress?)
        /// It is over.
        case ended(CommandQueue.Outcome)
    }
}

extension CommandQueue.CommandState: CustomStringConvertible {
    /// `waiting`, `running`, `running (upload 512/1024)`, `ended: done`.
    public var description: String {
        switch self {
        case .waiting: "waiting"
        case .running(let progress): "running" + (progress.map { " (\($0))" } ?? "")
        case .ended(.done): "ended: done"
        case .ended(.failed(let error)): "ended: \(error)"
        case .ended(.cancelled): "ended: cancelled"
        }
    }
}

/// What becomes of one command, for whoever wants to know.
final class CommandWatch<Output: Sendable>: Sendable {
    private struct State {
        var state = CommandQueue.CommandState.waiting
        var mailboxes = Observers<Mailbox<CommandQueue.CommandState>>()
        var isOver = false
    }

    private let watched = Mutex(State())
    private let news = Announcements()
    private let end = Ending<Result<Output, any Error>>()

    var state: CommandQueue.CommandState { watched.withLock { $0.state } }

    var result: Result<Output, any Error>? { end.reason }

    /// It has come so far.
    func tell(_ new: CommandQueue.CommandState) {
        watched.withLock { watched in
            guard !watched.isOver else { return }
            watched.state = new
            let mailboxes = watched.mailboxes.all
            if !mailboxes.isEmpty { news.add { for mailbox in mailboxes { mailbox.send(new) } } }
        }
        news.make()
    }

    /// It is over.
    func finish(_ result: Result<Output, any Error>) {
        let outcome: CommandQueue.Outcome =
            switch result {
            case .success: .done
            case .failure(let error): error is CancellationError ? .cancelled : .failed(error)
            }
        tell(.ended(outcome))
        watched.withLock { watched in
            watched.isOver = true
            let mailboxes = watched.mailboxes.removeAll()
            if !mailboxes.isEmpty { news.add { for mailbox in mailboxes { mailbox.finish() } } }
        }
        news.make()
        end.end(result)
    }

    /// Calls the closure with the result, at once where it is there; until what is returned is called.
    func whenFinished(_ waiter: @escaping @Sendable (Result<Output, any Error>) -> Void) -> @Sendable () -> Void {
        end.whenEnded(waiter)
    }

    /// Tells the state at once, then each change.
    func add(_ mailbox: Mailbox<CommandQueue.CommandState>) -> @Sendable () -> Void {
        let id: Int? = watched.withLock { watched in
            let (state, isOver) = (watched.state, watched.isOver)
            news.add {
                mailbox.send(state)
                if isOver { mailbox.finish() }
            }
            return isOver ? nil : watched.mailboxes.add(mailbox)
        }
        news.make()
        guard let id else { return {} }
        return { _ = self.watched.withLock { $0.mailboxes.remove(id) } }
    }
}
