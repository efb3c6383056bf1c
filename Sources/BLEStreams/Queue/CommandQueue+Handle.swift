import BLEProtocol
import BLERadio
import Synchronization

extension CommandQueue {
    /// A handle to cancel, await and watch a command that ``CommandQueue/enqueue(_:priority:deadline:)-(C,_,_)`` has
    /// put into a queue.
    ///
    /// The command runs whether or not anybody keeps the handle or waits for it. The queue's scope runs it, and ends it
    /// when the scope ends.
    ///
    /// ```swift
    /// let reading = queue.enqueue(.read(.batteryLevel))
    /// for try await state in reading.states { print(state) }
    /// print(try await reading.value)
    /// ```
    public struct Handle<Output: Sendable>: Sendable, Identifiable {
        /// The command's number in ``CommandQueue/contents``; 0 if the queue was over.
        public let id: CommandQueue.Item.ID

        /// The ``Command/name`` of the command.
        public let name: String

        let core: QueueCore
        let watch: CommandWatch<Output>

        /// What the command returns. Waits until it has ended; any number of callers may ask, even long afterwards.
        ///
        /// Cancelling a task that waits here ends only the wait: ``cancel()`` cancels the command.
        ///
        /// - Throws: what ``CommandQueue/run(_:priority:deadline:)-(C,_,_)`` throws for the command, including
        ///   `CancellationError` when the command or the scope's task was cancelled, and ``BLEError/Code/ended`` when
        ///   the queue was over; ``BLEError/Code/deadlock`` at once when a command of the same queue asks, unless this
        ///   command has ended.
        public var value: Output {
            get async throws {
                if let result = watch.result { return try result.get() }
                try core.refuseToWait(for: name)
                return try await reply(on: core.timeline) { finish in watch.whenFinished(finish) }
            }
        }

        /// The command's state now: waiting, running with its latest progress, or ended.
        public var state: CommandQueue.CommandState { watch.state }

        /// The command's state: at once, then each change. The stream ends after
        /// ``CommandQueue/CommandState/ended(_:)``.
        ///
        /// A slow consumer gets the newest 256 states. Ending the stream doesn't cancel the command.
        public var states: BLEStream<CommandQueue.CommandState> {
            let watch = watch
            let subject = StreamSubject(operation: name, object: "on \(core.connection.object)")
            return BLEStream(subject, timeline: core.timeline, buffer: .newest(256)) { watch.add($0) }
        }

        /// Cancels the command, whether it waits or runs: ``value`` then throws `CancellationError`.
        ///
        /// - Returns: whether the command was still in the queue.
        @discardableResult
        public func cancel() -> Bool { core.cancel(id) }
    }

    /// The state of an enqueued command.
    public enum CommandState: Sendable {
        /// It waits for its turn.
        case waiting
        /// It runs, with its latest progress; `nil` if it has reported none.
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

/// The state and the result of one command, for everybody who watches or awaits it.
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

    /// Tells the watchers the new state.
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
        watched.withLock { watched in
            guard !watched.isOver else { return }
            // In one step: what the queue tells late, on another thread, must not follow the end.
            watched.isOver = true
            watched.state = .ended(outcome)
            let mailboxes = watched.mailboxes.removeAll()
            guard !mailboxes.isEmpty else { return }
            news.add {
                for mailbox in mailboxes {
                    mailbox.send(.ended(outcome))
                    mailbox.finish()
                }
            }
        }
        news.make()
        end.end(result)
    }

    /// Calls the closure with the result, at once if there is one already. Call what is returned to take that back.
    func whenFinished(_ waiter: @escaping @Sendable (Result<Output, any Error>) -> Void) -> @Sendable () -> Void {
        end.whenEnded(waiter)
    }

    /// Sends the state at once, then each change.
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
