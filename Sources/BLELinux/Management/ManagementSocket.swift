internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The kernel's management socket, for one adapter: commands with their answers, and every event.
///
/// A command is sent on the thread that submits it, so that a program's last request is sent before it exits. Answers
/// and events come on the loop's thread, in the order of the socket; no event is skipped while an answer is awaited.
final class ManagementSocket: Sendable {
    /// What happened, and when.
    struct Event: Sendable {
        var event: ManagementEvent
        var time: ReceptionTime
    }

    typealias Answer = @Sendable (ManagementClient.Outcome) -> Void
    typealias Observer = @Sendable ([Event]) -> Void
    typealias LossObserver = @Sendable (Int) -> Void

    private struct State: ~Copyable {
        var client = ManagementClient()
        var own = OwnEvents(of: .none)
        /// The callers that wait for answers.
        var answers: [ManagementClient.RequestID: (opcode: ManagementOpcode, call: Answer)] = [:]
        /// Called for commands that the controller leaves unanswered.
        var unanswered: (@Sendable (ManagementOpcode) -> Void)?
        var timers: [ManagementClient.RequestID: RadioActivity] = [:]
        var observers = Observers<(call: Observer, lost: LossObserver)>()
        /// Called when no answer is outstanding any more.
        var idle = Observers<@Sendable () -> Void>()
        var drops = DropCounter()
    }

    /// The number that the adapter has now; none while it is absent.
    private let currentIndex: @Sendable () -> ManagementIndex
    private let socket: FileDescriptor
    private let loop: EventLoop
    private let timeline: any Timeline
    private let reading: PacedReading
    private let state = Mutex(State())

    /// Opens the socket. The capabilities that the program has at this moment decide what it may do.
    convenience init(adapter: LinuxAdapter, loop: EventLoop, timeline: any Timeline) throws(SystemError) {
        let socket = try FileDescriptor.hciSocket(of: adapter.kernel)
        try socket.bind(to: .control)
        // An answer for which the queue has no room would be lost.
        socket.prepareForLink()
        let index: @Sendable () -> ManagementIndex = { ManagementIndex(rawValue: adapter.presentNumber) }
        try self.init(over: socket, loop: loop, timeline: timeline, index: index, looking: { _ = adapter.facts })
    }

    /// Uses a socket that is already open.
    init(
        over socket: consuming FileDescriptor,
        loop: EventLoop,
        timeline: any Timeline,
        index: @escaping @Sendable () -> ManagementIndex,
        looking look: @escaping @Sendable () -> Void = {}
    ) throws(SystemError) {
        self.loop = loop
        self.timeline = timeline
        self.socket = socket
        reading = PacedReading(.ofAdvertisements, on: loop, timeline)
        currentIndex = index
        state.withLock { $0.own = OwnEvents(of: index(), looking: look) }
        let registration = try loop.register(self.socket, for: .readable) { [weak self] readiness, buffer in
            self?.socketIsReady(readiness, buffer)
        }
        reading.begin(registration) { [weak self] in self?.socketIsReady([], $0) }
    }

    deinit {
        if let registration = reading.end() { loop.unregister(registration, of: socket) }
    }

    /// Sends a command in its turn; the closure is called once, on the loop's thread.
    ///
    /// - Parameter index: the adapter that it is for; `nil`: this one.
    @discardableResult
    func submit<Command: ManagementCommand>(
        _ command: Command,
        index: ManagementIndex? = nil,
        answer: @escaping @Sendable (Result<Command.Response, ManagementFailure>) -> Void
    ) -> ManagementClient.RequestID {
        // The socket stays open until it has its answers: a command that is waiting its turn is still sent.
        submit(command, index: index ?? currentIndex()) { [self] outcome in
            withExtendedLifetime(self) { answer(ManagementFailure.result(of: Command.self, outcome)) }
        }
    }

    /// Sends a command that removes something from the kernel, which would stay there after the end of the program. If
    /// this socket can't send it, another one does.
    ///
    /// - Parameters:
    ///   - index: the adapter that it is for; `nil`: this one, unless it was seen to be absent.
    ///   - failed: called, on the loop's thread, if it stays there: no socket can, or the kernel refuses, as it does
    ///     while it is busy, if the controller doesn't answer, and before Linux 6.10 while the adapter is off.
    func undo<Command: ManagementCommand>(
        _ command: Command,
        index: ManagementIndex? = nil,
        failed: @escaping @Sendable () -> Void
    ) {
        let index = index ?? currentIndex()
        submit(command, index: index) { [self] outcome in
            switch outcome {
            case .notSent, .closed:
                if !socket.kernel.sendApart(command.packet(index: index).encoded) { failed() }
            case .replied(let reply): if reply.status != .success, !reply.status.meansAbsence { failed() }
            case .timedOut: break
            }
        }
    }

    @discardableResult
    private func submit<Command: ManagementCommand>(
        _ command: Command,
        index: ManagementIndex,
        call: @escaping Answer
    ) -> ManagementClient.RequestID {
        let (id, actions) = state.withLock { state in
            let (id, output) = state.client.submit(command, index: index)
            state.answers[id] = (Command.opcode, call)
            var actions: [Action] = []
            perform(output, &state, &actions)
            return (id, actions)
        }
        reading.hurry(socket)
        // Not here: the caller may hold a lock that the closure needs.
        if !actions.isEmpty { loop.enqueue { self.carryOut(actions) } }
        return id
    }

    /// Waits no longer for the answer of a command, which is known to be lost; its closure is not called.
    func answerIsLost(_ id: ManagementClient.RequestID) {
        let actions = state.withLock { state in
            state.answers[id] = nil
            var actions: [Action] = []
            perform(state.client.answerIsLost(id), &state, &actions)
            return actions
        }
        loop.enqueue { self.carryOut(actions) }
    }

    /// Whether a command still waits its turn.
    func isWaiting(_ id: ManagementClient.RequestID) -> Bool { state.withLock { $0.client.isWaiting(id) } }

    /// Withdraws a command that still waits its turn: it is not sent, and its closure not called.
    ///
    /// - Returns: whether the command still waited.
    func withdraw(_ id: ManagementClient.RequestID) -> Bool {
        let call = state.withLock { state -> Answer? in
            guard state.client.isWaiting(id) else { return nil }
            // Nothing follows from it: the turn is another command's.
            _ = state.client.withdraw(id)
            return state.answers.removeValue(forKey: id)?.call
        }
        return call != nil
    }

    /// Calls the closure, on the loop's thread, once every command is answered, including those that follow from the
    /// answers.
    func whenIdle(_ action: @escaping @Sendable () -> Void) -> RadioActivity {
        let id = state.withLock { $0.idle.add(action) }
        loop.enqueue { self.tellIfIdle() }
        return RadioActivity { [weak self] in _ = self?.state.withLock { $0.idle.remove(id) } }
    }

    /// Calls the closure, on the loop's thread, once all that the kernel has told by now is read.
    ///
    /// A program that was stopped learns of the end of its timers and of a long queue at once; the loop reads a part of
    /// that in each turn.
    ///
    /// - Parameter turns: how many turns are waited for at most: more than any queue lasts.
    func whenRead(
        within turns: Int = SocketDrain.everything / SocketDrain.fairShare,
        _ action: @escaping @Sendable () -> Void
    ) {
        loop.enqueueReceiving { [self] buffer in
            if socketIsReady([], buffer) || turns <= 1 { action() } else { whenRead(within: turns - 1, action) }
        }
    }

    /// Sets the observer that is called, on the loop's thread, for each command that the controller has left
    /// unanswered, before the command's own answer.
    func tellOfUnanswered(_ observer: @escaping @Sendable (ManagementOpcode) -> Void) {
        state.withLock { $0.unanswered = observer }
    }

    /// Calls the closure with the adapter's events, on the loop's thread, until the activity is cancelled.
    ///
    /// - Parameter lost: called with the number of packets that the kernel had no room for, at the place where they are
    ///   missing.
    func observe(_ observer: @escaping Observer, lost: @escaping LossObserver = { _ in }) -> RadioActivity {
        let id = state.withLock { $0.observers.add((observer, lost)) }
        return RadioActivity { [weak self] in _ = self?.state.withLock { $0.observers.remove(id) } }
    }
}

// MARK: - On the loop's thread

extension ManagementSocket {
    /// What remains to do once the lock is released.
    private enum Action: Sendable {
        case answer(Answer, ManagementClient.Outcome)
        case event(ManagementEvent, ReceptionTime)
        case lost(Int)
        case unanswered(ManagementOpcode)
    }

    /// - Returns: whether all was read that had come.
    @discardableResult
    private func socketIsReady(_ readiness: Readiness, _ buffer: ReceiveBuffer) -> Bool {
        var (found, last) = (0, 0)
        let outcome = SocketDrain.empty(socket, readiness: readiness, through: buffer) { count in
            found += count
            last = count
            // One reading of the clock serves a batch that the kernel has not timed.
            let now = timeline.wallTime
            let actions = state.withLock { state in
                state.drops.hasRead(count)
                var actions: [Action] = []
                actions.reserveCapacity(count)
                for datagram in 0..<count {
                    let lost = state.drops.lost(upTo: buffer.dropped(datagram))
                    if lost > 0 {
                        state.client.missedDatagrams()
                        actions.append(.lost(lost))
                    }
                    let time = buffer.kernelTime(datagram) ?? now
                    perform(state.client.received(buffer.bytes(datagram)), &state, &actions, time: time)
                }
                return actions
            }
            carryOut(actions)
        }
        guard case .ended = outcome else {
            let isEmpty = SocketDrain.isEmpty(socket, behind: last)
            // Nearly all that comes unasked is advertisements.
            let (isAwaited, mayLackEnd) = state.withLock { (!$0.answers.isEmpty, $0.drops.mayLackEnd) }
            if isEmpty, mayLackEnd { tellLossBehindLast() }
            reading.hasRead(found, of: socket, mayPause: !isAwaited)
            return isEmpty
        }
        let actions = state.withLock { state in
            var actions: [Action] = []
            perform(state.client.closed(), &state, &actions)
            return actions
        }
        if let registration = reading.end() { loop.unregister(registration, of: socket) }
        carryOut(actions)
        return true
    }

    /// Tells how many events are missing behind the last one, which no event tells. The socket is asked once after each
    /// backlog.
    private func tellLossBehindLast() {
        let total = socket.droppedSinceOpening()
        let lost = state.withLock { state in
            let lost = state.drops.lost(byNow: total)
            if lost > 0 { state.client.missedDatagrams() }
            return lost
        }
        if lost > 0 { carryOut([.lost(lost)]) }
    }

    /// Sends, and sets timers; appends the calls to others. Answers keep their place among the events.
    private func perform(
        _ output: ManagementClient.Output,
        _ state: inout State,
        _ actions: inout [Action],
        time: ReceptionTime? = nil
    ) {
        if let event = output.event, let time, state.own.include(event, now: currentIndex()) {
            actions.append(.event(event.event, time))
        }
        for completion in output.completed {
            if let answer = state.answers.removeValue(forKey: completion.id) {
                if completion.outcome.isSilence(of: answer.opcode), !completion.mayBeLost {
                    actions.append(.unanswered(answer.opcode))
                }
                actions.append(.answer(answer.call, completion.outcome))
            }
        }
        for timer in output.timers {
            switch timer {
            case .cancel(let id):
                state.timers.removeValue(forKey: id)?.cancel()
            case .start(let id, let delay):
                state.timers[id] = timeline.schedule(afterAwake: delay) { [weak self] in self?.timerFired(id) }
            }
        }
        if let reply = output.unexpectedReply, state.client.endedWithRemoval(reply), let undoing = reply.undoing {
            perform(state.client.submit(undoing, index: reply.index).output, &state, &actions)
        }
        for transmission in output.send {
            if (try? socket.send(transmission.datagram)) == nil {
                perform(state.client.sendFailed(transmission.id), &state, &actions)
            }
        }
    }

    private func timerFired(_ id: ManagementClient.RequestID) {
        whenRead {
            let actions = self.state.withLock { state in
                state.timers.removeValue(forKey: id)
                var actions: [Action] = []
                self.perform(state.client.timerFired(id), &state, &actions)
                return actions
            }
            self.carryOut(actions)
        }
    }

    /// Calls the waiting closures; consecutive events are delivered together.
    private func carryOut(_ actions: [Action]) {
        var events: [Event] = []
        for action in actions {
            switch action {
            case .event(let event, let time):
                events.append(Event(event: event, time: time))
            case .lost(let count):
                tell(events)
                events.removeAll()
                for observer in state.withLock({ $0.observers.all.map(\.lost) }) { observer(count) }
            case .unanswered(let opcode):
                state.withLock { $0.unanswered }?(opcode)
            case .answer(let answer, let outcome):
                tell(events)
                events.removeAll()
                answer(outcome)
            }
        }
        tell(events)
        tellIfIdle()
    }

    private func tellIfIdle() {
        let actions = state.withLock { $0.answers.isEmpty && !$0.idle.isEmpty ? $0.idle.removeAll() : [] }
        for action in actions { action() }
    }

    private func tell(_ events: [Event]) {
        guard !events.isEmpty else { return }
        for observer in state.withLock({ $0.observers.all.map(\.call) }) { observer(events) }
    }
}
