import BLEProtocol
import BLERadio
import Synchronization

/// What all handles of one queue share: the order, who waits, who watches.
final class QueueCore: Sendable {
    typealias Contents = CommandQueue.Contents

    private struct State {
        var order = QueueOrder()
        var items: [QueueOrder.ID: CommandQueue.Item] = [:]
        var turns: [QueueOrder.ID: @Sendable () -> Void] = [:]
        var stops: [QueueOrder.ID: Stop] = [:]
        var lastID = 0
        var watchers: [Int: Mailbox<Contents>] = [:]
        var lastWatcher = 0
        var isClosed = false
        var whenEmpty: OnceOnly?
        /// Drops the link when nothing has been done for a while.
        var idleTimer: (number: Int, activity: RadioActivity?) = (0, nil)
    }

    /// The queues whose commands the running task is inside of.
    @TaskLocal static var inside: [QueueCore] = []

    let connection: CommandConnection
    private let state = Mutex(State())

    var timeline: any Timeline { connection.timeline }

    init(_ connection: CommandConnection) { self.connection = connection }

    // MARK: - Running

    func run<C: Command>(
        _ command: C,
        _ decorators: [any CommandDecorator],
        _ priority: CommandPriority,
        _ deadline: Duration?
    ) async throws -> C.Output {
        let name = command.name
        if Self.inside.contains(where: { $0 === self }) { throw deadlock(name) }
        let stop = Stop()
        let id = try add(name, priority, stop)
        let limit = deadline.map { deadline -> (Duration, @Sendable () -> any Error) in
            (deadline, { self.missed(deadline, name, isRunning: self.isRunning(id)) })
        }
        do {
            let output = try await ending(on: timeline, limit: limit, by: stop) {
                try await self.turn(of: id)
                return try await self.perform(DecoratedCommand(command, decorators[...]), id)
            }
            ended(id, .done)
            return output
        } catch {
            ended(id, error is CancellationError ? .cancelled : .failed(error))
            throw error
        }
    }

    private func perform<C: Command>(_ command: C, _ id: QueueOrder.ID) async throws -> C.Output {
        let context = try await connection.context { self.report($0, of: id) }
        defer { context.end() }
        return try await Self.$inside.withValue(Self.inside + [self]) {
            try await context.holds.working { try await command.run(in: context) }
        }
    }

    /// Cancels a command, waiting or running; whether there was one.
    func cancel(_ id: QueueOrder.ID) -> Bool {
        let stop = state.withLock { $0.stops[id] }
        stop?.stop(CancellationError())
        return stop != nil
    }

    // MARK: - Turns

    private func add(_ name: String, _ priority: CommandPriority, _ stop: Stop) throws -> QueueOrder.ID {
        let id: QueueOrder.ID? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastID += 1
            state.items[state.lastID] = CommandQueue.Item(id: state.lastID, name: name, priority: priority)
            state.stops[state.lastID] = stop
            state.order.add(state.lastID, priority)
            state.idleTimer.number += 1
            tell(state)
            return state.lastID
        }
        guard let id else { throw over(name) }
        return id
    }

    /// Waits until it is this command's turn.
    private func turn(of id: QueueOrder.ID) async throws {
        try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            self.state.withLock { $0.turns[id] = { finish(.success(())) } }
            self.beginNext()
            return { _ = self.state.withLock { $0.turns.removeValue(forKey: id) } }
        }
    }

    private func beginNext() {
        let turn: (@Sendable () -> Void)? = state.withLock { state in
            // One that isn't at its place yet begins when it comes.
            guard state.order.running == nil, let next = state.order.waiting.first?.id, state.turns[next] != nil,
                let begun = state.order.beginNext()
            else { return nil }
            tell(state)
            return state.turns.removeValue(forKey: begun)
        }
        turn?()
    }

    private func isRunning(_ id: QueueOrder.ID) -> Bool { state.withLock { $0.order.running == id } }

    private func ended(_ id: QueueOrder.ID, _ outcome: CommandQueue.Outcome) {
        let whenEmpty: OnceOnly? = state.withLock { state in
            state.order.remove(id)
            state.turns[id] = nil
            state.stops[id] = nil
            let item = state.items.removeValue(forKey: id)
            tell(state, ended: item.map { ($0, outcome) })
            return state.items.isEmpty ? state.whenEmpty.take() : nil
        }
        whenEmpty?.run()
        beginNext()
        startIdleTimer()
    }

    // MARK: - The link

    /// Drops the link later, where a command has asked for that and nothing is to be done.
    private func startIdleTimer() {
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
            // Under the lock: a command that comes now makes a link of its own.
            state.idleTimer.number == number && state.items.isEmpty ? connection.take() : nil
        }
        link?.beginClosing()
    }

    /// Lets no more commands in, cancels those that are in, and ends the link.
    func close() async {
        let (stops, timer) = state.withLock { state in
            state.isClosed = true
            state.idleTimer.number += 1
            return (state.stops, state.idleTimer.activity.take())
        }
        timer?.cancel()
        for (id, stop) in stops { stop.stop(over(state.withLock { $0.items[id]?.name } ?? "command")) }
        await withCheckedContinuation { continuation in
            let once = OnceOnly { continuation.resume() }
            let isEmpty = state.withLock { state in
                if !state.items.isEmpty { state.whenEmpty = once }
                return state.items.isEmpty
            }
            if isEmpty { once.run() }
        }
        await connection.take()?.close()
        for watcher in state.withLock({ $0.watchers }) { watcher.value.finish() }
    }

    // MARK: - Watching

    private func report(_ progress: CommandProgress, of id: QueueOrder.ID) {
        state.withLock { state in
            guard state.items[id] != nil else { return }
            state.items[id]?.progress = progress
            tell(state)
        }
    }

    /// Under the lock, so that all watchers see one order.
    private func tell(_ state: State, ended: (CommandQueue.Item, CommandQueue.Outcome)? = nil) {
        guard !state.watchers.isEmpty else { return }
        var contents = snapshot(state)
        contents.ended = ended.map { (item: $0, outcome: $1) }
        for watcher in state.watchers.values { watcher.send(contents) }
    }

    private func snapshot(_ state: State) -> Contents {
        var contents = Contents()
        if let id = state.order.running { contents.running = state.items[id] }
        for (id, _) in state.order.waiting { if let item = state.items[id] { contents.waiting.append(item) } }
        return contents
    }

    var contents: BLEStream<Contents> {
        let subject = StreamSubject(operation: "queue contents", object: "of \(connection.peripheral)")
        return BLEStream(subject, timeline: timeline, buffer: .newest(256)) { mailbox in
            let id = self.state.withLock { state in
                state.lastWatcher += 1
                state.watchers[state.lastWatcher] = mailbox
                mailbox.send(self.snapshot(state))
                return state.lastWatcher
            }
            return { _ = self.state.withLock { $0.watchers.removeValue(forKey: id) } }
        }
    }
}

// MARK: - Errors

extension QueueCore {
    private func deadlock(_ name: String) -> BLEError {
        BLEError(
            .deadlock,
            operation: name,
            object: "on \(connection.peripheral)",
            cause: "it was put into the queue by a command of the same queue, which would wait for itself",
            remedy: "Run it directly, `command.run(in: context)`, or compose the two with `then`."
        )
    }

    private func missed(_ deadline: Duration, _ name: String, isRunning: Bool) -> BLEError {
        .timedOut(
            name,
            object: "on \(connection.peripheral)",
            after: deadline,
            waitingFor: isRunning ? "the command did not end" : "the command's turn did not come"
        )
    }

    private func over(_ name: String) -> BLEError {
        BLEError(
            .ended,
            operation: name,
            object: "on \(connection.peripheral)",
            cause: "the queue is over",
            remedy: "Run commands within the closure of `withQueue`."
        )
    }
}
