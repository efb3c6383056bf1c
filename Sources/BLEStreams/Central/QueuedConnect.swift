import BLEProtocol
import BLERadio
import Synchronization

/// One try to connect that waits for its turns in the queue of its radio.
final class QueuedConnect: Sendable {
    private struct State {
        var leave: (@Sendable () -> Void)?
        var cancelAttempt: (@Sendable () -> Void)?
        /// Counts the turns: what belongs to an earlier one is ignored.
        var turn = 0
        var deadline: RadioActivity?
        var isOver = false
    }

    private let peripheral: Peripheral
    private let timeout: Duration
    private let parameters: ConnectionParameters?
    private let begin: Duration
    private let result: @Sendable (Result<Link, BLEError>) -> Void
    private let state = Mutex(State())

    private var core: CentralCore { peripheral.core }

    /// Starts; exactly one result comes, unless the returned closure is called before.
    static func start(
        to peripheral: Peripheral,
        timeout: Duration,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let connect = QueuedConnect(peripheral, timeout, parameters, result)
        let deadline = peripheral.core.timeline.schedule(after: timeout) { connect.timedOut() }
        let isOver = connect.state.withLock { state in
            state.deadline = deadline
            return state.isOver
        }
        if isOver { deadline.cancel() } else { connect.enter() }
        return { connect.finish() }
    }

    private init(
        _ peripheral: Peripheral,
        _ timeout: Duration,
        _ parameters: ConnectionParameters?,
        _ result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) {
        self.peripheral = peripheral
        self.timeout = timeout
        self.parameters = parameters
        self.result = result
        begin = peripheral.core.timeline.now
    }

    private func enter() {
        let turn = state.withLock { state -> Int? in
            guard !state.isOver else { return nil }
            state.turn += 1
            return state.turn
        }
        guard let turn else { return }
        let leave = core.connectTurns.enter(grant: { self.connect(turn) }, revoke: { self.yield(turn) })
        let isOutdated = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return true }
            state.leave = leave
            return false
        }
        if isOutdated { leave() }
    }

    private func connect(_ turn: Int) {
        let isCurrent = state.withLock { !$0.isOver && $0.turn == turn }
        guard isCurrent else { return }
        // A little more than what is left: the deadline here tells the whole time.
        let left = begin + timeout - core.timeline.now + .seconds(1)
        let cancel = ConnectAttempt.start(
            to: peripheral,
            timeout: left,
            persists: false,
            parameters: parameters
        ) { outcome in
            guard self.state.withLock({ !$0.isOver && $0.turn == turn }) else {
                if case .success(let link) = outcome { link.beginClosing() }
                return
            }
            _ = self.finish()
            self.result(outcome)
        }
        let isOutdated = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return true }
            state.cancelAttempt = cancel
            return false
        }
        if isOutdated { cancel() }
    }

    /// Makes room for another, and queues up again.
    private func yield(_ turn: Int) {
        let actions: [(@Sendable () -> Void)?]? = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return nil }
            return [state.cancelAttempt.take(), state.leave.take()]
        }
        guard let actions else { return }
        for action in actions { action?() }
        enter()
    }

    private func timedOut() {
        guard finish() else { return }
        result(.failure(.connectTimedOut(peripheral, after: timeout)))
    }

    /// Ends it once; whether this call did.
    @discardableResult
    private func finish() -> Bool {
        let taken: (State, Bool) = state.withLock { state in
            let taken = state
            state.isOver = true
            state.leave = nil
            state.cancelAttempt = nil
            state.deadline = nil
            return (taken, !taken.isOver)
        }
        guard taken.1 else { return false }
        taken.0.deadline?.cancel()
        taken.0.cancelAttempt?()
        taken.0.leave?()
        return true
    }
}
