import BLEProtocol
import BLERadio
import Synchronization

/// The state that all handles of one queue share: its order, its commands, its watchers.
final class QueueCore: Sendable {
    typealias Contents = CommandQueue.Contents

    struct State {
        var order = TurnOrder()
        var items: [TurnOrder.ID: CommandQueue.Item] = [:]
        var turns: [TurnOrder.ID: @Sendable () -> Void] = [:]
        /// Each ends a command early, with a reason.
        var wishes: [TurnOrder.ID: Ending<any Error>] = [:]
        /// Each hears the state of one command.
        var handles: [TurnOrder.ID: @Sendable (CommandQueue.CommandState) -> Void] = [:]
        var watchers = Observers<Mailbox<Contents>>()
        var progressWatchers = Observers<Mailbox<CommandProgress>>()
        var isClosed = false
        /// Whether its commands are being ended: whoever comes again and again would keep it from ever being empty.
        var isEmptying = false
        /// Whether it has closed, and those who watched it were told.
        var isOver = false
        var whenEmpty: (@Sendable () -> Void)?
        /// Ends an idle link. A timer with an old number does nothing.
        var idleTimer: (number: Int, activity: RadioActivity?) = (0, nil)
        /// The last link that was idle for too long; it may still be on its way down.
        var idleLink: Link?
        /// Who was told last that there are commands; `nil` once told that there are none.
        var told: Audience?
    }

    /// The event handlers, and the peripheral that they are told of.
    typealias Audience = (events: EventBoard, peripheral: BluetoothAddress)

    /// A command's place in the queue.
    struct Place {
        let id: TurnOrder.ID
        let name: String
        let wish: Ending<any Error>
        let deadline: (limit: Duration, end: Duration)?
    }

    /// The commands that the running task is inside of, with their queues. A task that a command has started, and that
    /// outlives it, has them too.
    @TaskLocal static var inside: [(queue: QueueCore, command: TurnOrder.ID)] = []

    let connection: CommandConnection
    let jobs: QueueJobs
    let state = Mutex(State())
    /// What watchers and handles are told.
    let news = Announcements()
    /// The flow that the next one replaces.
    let activeFlow = Mutex<ActiveFlow?>(nil)

    var timeline: any Timeline { connection.timeline }

    /// Whether the running task does the work of a command of this queue.
    var isInside: Bool { Self.inside.contains { $0.queue === self && isRunning($0.command) } }

    /// Whether the running task does the work of a command of any session's queue.
    static var isInsideSession: Bool {
        inside.contains { entry in
            guard case .session = entry.queue.connection.source else { return false }
            return entry.queue.isRunning(entry.command)
        }
    }

    init(_ connection: CommandConnection) {
        self.connection = connection
        jobs = QueueJobs(timeline: connection.timeline)
    }

    // MARK: - Running

    /// Runs a command in the caller's task.
    func run<C: Command>(
        _ command: C,
        _ decorators: [any CommandQueue.Decorator],
        _ priority: CommandQueue.Priority,
        _ deadline: Duration?
    ) async throws -> C.Output {
        try refuseToWait(for: command.name)
        guard let place = enter(command.name, priority, deadline) else { throw over(command.name) }
        return try await work(command, decorators, place)
    }

    /// Waits for the command's turn, runs it, and takes it out of the queue.
    func work<C: Command>(
        _ command: C,
        _ decorators: [any CommandQueue.Decorator],
        _ place: Place
    ) async throws -> C.Output {
        let limit = place.deadline.map { deadline -> (Duration, @Sendable () -> any Error) in
            (
                max(.zero, deadline.end - timeline.now),
                { self.missed(deadline.limit, place.name, isRunning: self.isRunning(place.id)) }
            )
        }
        do {
            let output = try await ending(on: timeline, limit: limit, by: place.wish) {
                try await self.turn(of: place.id)
                // A command that was cancelled just as its turn came doesn't begin.
                if let reason = place.wish.reason { throw reason }
                return try await self.perform(DecoratedCommand(command, decorators[...]), place)
            }
            ended(place.id, .done)
            return output
        } catch {
            ended(place.id, error is CancellationError ? .cancelled : .failed(error))
            throw error
        }
    }

    private func perform<C: Command>(_ command: DecoratedCommand<C>, _ place: Place) async throws -> C.Output {
        let id = place.id
        let work = try await connection.work(of: place.name, findsLink: command.findsLink) { self.report($0, of: id) }
        let result: Result<C.Output, any Error>
        do {
            let output = try await Self.$inside.withValue(Self.inside + [(self, id)]) {
                try await work.holds.working { try await work.run(command) }
            }
            result = .success(output)
        } catch {
            result = .failure(error)
        }
        await work.finish()
        return try result.get()
    }

    /// Cancels a command that waits or runs; `false` if there is none.
    func cancel(_ id: TurnOrder.ID) -> Bool {
        let wish = state.withLock { $0.wishes[id] }
        wish?.end(CancellationError())
        return wish != nil
    }

    // MARK: - Turns

    /// Puts a command into the queue; `nil` if the queue is over, or is being emptied.
    func enter(
        _ name: String,
        _ priority: CommandQueue.Priority,
        _ deadline: Duration?,
        _ handle: (@Sendable (CommandQueue.CommandState) -> Void)? = nil
    ) -> Place? {
        let wish = Ending<any Error>()
        let (now, audience) = (timeline.now, audience)
        let id: TurnOrder.ID? = state.withLock { state in
            guard !state.isClosed, !state.isEmptying else { return nil }
            let id = state.order.add(urgency: priority.rawValue)
            state.items[id] = CommandQueue.Item(id: id, name: name, priority: priority)
            state.wishes[id] = wish
            state.handles[id] = handle
            state.idleTimer.number += 1
            tell(state)
            tell(audience, &state)
            return id
        }
        news.make()
        return id.map { Place(id: $0, name: name, wish: wish, deadline: deadline.map { ($0, now + $0) }) }
    }

    /// Waits until it is this command's turn.
    private func turn(of id: TurnOrder.ID) async throws {
        try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            self.state.withLock { $0.turns[id] = { finish(.success(())) } }
            self.beginNext()
            return { _ = self.state.withLock { $0.turns.removeValue(forKey: id) } }
        }
    }

    private func beginNext() {
        let turn: (@Sendable () -> Void)? = state.withLock { state in
            // The next command may not wait for its turn yet; it begins when it does.
            guard let next = state.order.next, state.turns[next] != nil, let begun = state.order.admit() else {
                return nil
            }
            tell(state)
            if let handle = state.handles[begun] { news.add { handle(.running(nil)) } }
            return state.turns.removeValue(forKey: begun)
        }
        news.make()
        turn?()
    }

    private func isRunning(_ id: TurnOrder.ID) -> Bool { state.withLock { $0.order.isInside(id) } }

    func ended(_ id: TurnOrder.ID, _ outcome: CommandQueue.Outcome) {
        let audience = audience
        let whenEmpty: (@Sendable () -> Void)? = state.withLock { state in
            state.order.remove(id)
            state.turns[id] = nil
            state.wishes[id] = nil
            state.handles[id] = nil
            let item = state.items.removeValue(forKey: id)
            tell(state, ended: item.map { ($0, outcome) })
            tell(audience, &state)
            return state.items.isEmpty ? state.whenEmpty.take() : nil
        }
        news.make()
        whenEmpty?()
        beginNext()
        startIdleTimer()
    }

    /// The event handlers, and the peripheral that they are told of; `nil` without handlers, or without a peripheral.
    private var audience: Audience? {
        guard let peripheral = connection.peripheral, let events = peripheral.core.events else { return nil }
        return (events, peripheral.address)
    }

    /// Adds the number of commands to the news of the event handlers, under the lock: the last one must be the present
    /// one. A session may be searching for its peripheral, or have found it under another address: there are no
    /// commands under the former one any more.
    private func tell(_ audience: Audience?, _ state: inout State) {
        guard audience != nil || state.told != nil else { return }
        let count = state.items.count
        if let former = state.told, former.peripheral != audience?.peripheral {
            news.add { former.events.tell(.queue(0), of: former.peripheral) }
        }
        state.told = count == 0 ? nil : audience
        guard let audience else { return }
        news.add { audience.events.tell(.queue(count), of: audience.peripheral) }
    }
}

// MARK: - Errors

extension QueueCore {
    /// Refuses to let a task wait for a command that would wait for that task: a command of this queue, or a holder of
    /// the link or an operation of the session, behind which every command waits, the first one in the queue too.
    func refuseToWait(for name: String) throws(BLEError) {
        if isInside { throw deadlock(name) }
        if case .session(let reference) = connection.source, let session = reference.session, session.isOperating {
            throw session.waitingForOperation(name)
        }
        if let link = connection.link, link.bearer.wouldWaitForItself(with: link.pass) {
            throw .waitingForItself(name, "on \(connection.object)")
        }
    }

    private func deadlock(_ name: String) -> BLEError {
        BLEError(
            .deadlock,
            operation: name,
            object: "on \(connection.object)",
            cause: "a command of a queue waits for its own queue, and so for itself",
            remedy: "Run it directly, `command.run(in: context)`, or compose the two with `then`."
        )
    }

    func missed(_ deadline: Duration, _ name: String, isRunning: Bool) -> BLEError {
        let turn = SessionPatience.Wait(
            cause: "the command's turn did not come",
            remedy: "Let the commands before it end first, or allow more time."
        )
        return BLEError.timedOut(
            name,
            object: "on \(connection.object)",
            after: deadline,
            waitingFor: isRunning ? connection.delay ?? .endOfCommand : connection.idleness ?? turn
        )
    }

    func over(_ name: String) -> BLEError {
        let remedy =
            if case .session = connection.source {
                "Run commands while the session runs."
            } else {
                "Run commands within the closure of `withQueue`."
            }
        return BLEError(
            .ended,
            operation: name,
            object: "on \(connection.object)",
            cause: "the queue has ended",
            remedy: remedy
        )
    }
}
