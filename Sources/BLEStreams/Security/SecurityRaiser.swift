import BLEProtocol
import BLERadio
import Synchronization

/// Raises the protection of one link for its callers: carries out what the ``RaiseMachine`` decides.
///
/// Requests and commands of the link wait meanwhile; what the peripheral sends is delivered and confirmed.
///
/// The answers run in a task of their own, which no scope could own: an attempt serves several callers and outlives the
/// one that began it; a stream's operation has no task, and a link that streams share has no scope. The task is
/// cancelled when its attempt ends, and closing the link waits for it: ``answersEnded()``.
final class SecurityRaiser: Sendable {
    typealias Outcome = Result<Void, BLEError>

    /// The answers to the questions of one attempt.
    ///
    /// A task that the program has started in an answer, and that outlives it, still finds them in its context: so they
    /// know when they have ended.
    struct Answering: Sendable {
        let end = Ending<Void>()
        fileprivate let raiser: ObjectIdentifier
    }

    /// The answers that the running task gives: closing the link waits for their end, so they can't wait for it.
    @TaskLocal static var answering: Answering?

    /// Whether the running task gives answers, of any link.
    static var isAnswering: Bool { answering?.end.hasEnded == false }

    private struct Asker {
        let answers: PairingAnswers
        let result: @Sendable (Outcome) -> Void
    }

    private struct State {
        var machine = RaiseMachine()
        var askers: [RaiseMachine.Token: Asker] = [:]
        var lastToken = 0
        /// Why the last attempt for each level failed.
        var errors: [LinkSecurity.Level: BLEError] = [:]
        /// Gives up the attempt in progress.
        var undo: (@Sendable () -> Void)?
        /// Counts the attempts: the end of an earlier one is ignored.
        var tries = 0
        var answering: Task<Void, Never>?
        var watchers = Observers<@Sendable () -> Void>()
        var bearer: Bearer?
        /// The stored bonds with the peripheral when the link was made.
        var keptBonds: [Bond] = []

        /// A caller's result; `nil` if the link has ended.
        func outcome(_ outcome: RaiseMachine.Outcome) -> Outcome? {
            switch outcome {
            case .reached: .success(())
            case .failed(let level): errors[level].map { .failure($0) }
            case .ended: nil
            }
        }
    }

    private let peripheral: Peripheral
    private let state: Mutex<State>

    private var timeline: any Timeline { peripheral.core.timeline }

    /// - Parameter keptBonds: the stored bonds with the peripheral when the link was made.
    init(_ peripheral: Peripheral, keptBonds: [Bond]) {
        self.peripheral = peripheral
        state = Mutex(State(keptBonds: keptBonds))
    }

    /// The bond was removed since.
    func bondIsGone() { state.withLock { $0.keptBonds = [] } }

    /// Called once, before anything else; retains the bearer until it ends.
    func begin(on bearer: Bearer) { state.withLock { $0.bearer = bearer } }

    /// The level of the link; `nil` if it isn't encrypted, or has ended.
    var level: LinkSecurity.Level? { state.withLock { $0.bearer }?.radioLink.security.level }

    /// Whether the link is being raised.
    var isRaising: Bool { state.withLock { $0.machine.isRaising } }

    /// Raises the link; exactly one result comes, immediately or later, unless the returned closure is called before.
    ///
    /// - Parameters:
    ///   - answers: the answers to a pairing's questions, if this call begins the attempt.
    ///   - isRefused: whether an operation was refused; otherwise the program itself asks.
    func raise(
        to level: LinkSecurity.Level,
        answers: PairingAnswers,
        isRefused: Bool,
        _ result: @escaping @Sendable (Outcome) -> Void
    ) -> @Sendable () -> Void {
        let current = self.level
        let token = state.withLock { state in
            state.lastToken += 1
            state.askers[state.lastToken] = Asker(answers: answers, result: result)
            return state.lastToken
        }
        perform { $0.machine.want(level, token, isRefused: isRefused, at: current) }
        return { [self] in
            _ = state.withLock { $0.askers.removeValue(forKey: token) }
            perform { $0.machine.leave(token) }
        }
    }

    /// Reports possible changes of the link's protection until the returned closure is called.
    func watch(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.watchers.add(changed) }
        return { [weak self] in _ = self?.state.withLock { $0.watchers.remove(id) } }
    }

    /// This side is about to close the link.
    func close() { perform { $0.machine.close() } }

    /// The link has ended.
    func linkEnded() {
        perform { $0.machine.linkEnded() }
        let bearer = state.withLock { $0.bearer.take() }
        withExtendedLifetime(bearer) {}
    }

    /// Waits until the answers of an attempt that is over have ended; cancellation doesn't interrupt it. The answers
    /// don't wait for themselves.
    func answersEnded() async {
        if Self.isAnswering, Self.answering?.raiser == ObjectIdentifier(self) { return }
        let answering = state.withLock { $0.machine.isRaising ? nil : $0.answering }
        await answering?.value
    }

    // MARK: - Carrying out

    private func perform(_ input: (inout State) -> RaiseMachine.Output) {
        let (output, former, finished) = state.withLock { state in
            let output = input(&state)
            let isOver = output.begin != nil || !state.machine.isRaising
            let former: (undo: (@Sendable () -> Void)?, answering: Task<Void, Never>?) =
                isOver ? (state.undo.take(), state.answering) : (nil, nil)
            let finished = output.finished.compactMap { one in
                state.askers.removeValue(forKey: one.token).map { ($0.result, state.outcome(one.outcome)) }
            }
            return (output, former, finished)
        }
        former.answering?.cancel()
        if output.isGivenUp { former.undo?() }
        holdRequests()
        if let begin = output.begin { start(begin) }
        for (result, outcome) in finished { result(outcome ?? .failure(linkEndedError)) }
    }

    private func holdRequests() {
        state.withLock { $0.bearer }?.hold { state.withLock { ($0.machine.isRaising, $0.machine.rises) } }
    }

    private func start(_ begin: RaiseMachine.Begin) {
        let (answers, bearer, number, keptBonds) = state.withLock { state in
            state.tries += 1
            let answers = state.askers[begin.token]?.answers ?? PairingAnswers()
            return (answers, state.bearer, state.tries, state.keptBonds)
        }
        guard let bearer else { return ended(number, .failure(linkEndedError)) }
        let (questions, timeline) = (PairingMailbox(), timeline)
        let own = Answering(raiser: ObjectIdentifier(self))
        // In a simulation, on the executor that drives its clock.
        let answering = Task(executorPreference: timeline as? any TaskExecutor) {
            await Self.$answering.withValue(own) { await answers.answer(questions, on: timeline) }
            own.end.end()
        }
        state.withLock { $0.answering = answering }
        let undo = SecurityRaise.start(
            on: bearer,
            to: begin.level,
            of: peripheral,
            isBonded: bearer.radioLink.local.map { local in keptBonds.contains { $0.adapter == local } } ?? false,
            asking: questions.interview(answers.capability, outOfBand: answers.outOfBand)
        ) { [weak self] outcome in
            self?.ended(number, outcome)
        }
        let isOver = state.withLock { state in
            let isOver = state.tries != number || !state.machine.isRaising
            if !isOver { state.undo = undo }
            return isOver
        }
        if isOver {
            answering.cancel()
            undo()
        }
    }

    private func ended(_ number: Int, _ outcome: Outcome) {
        let current = state.withLock { $0.bearer }?.radioLink.security.level
        perform { state in
            guard state.tries == number, let goal = state.machine.goal else { return RaiseMachine.Output() }
            guard case .failure(let error) = outcome else { return state.machine.ended(at: current) }
            state.errors[goal] = error
            // The level may suffice, but with keys that were refused.
            return state.machine.ended(at: current.flatMap { $0 < goal ? $0 : nil })
        }
        for watcher in state.withLock({ $0.watchers.all }) { watcher() }
    }

    private var linkEndedError: BLEError {
        let reason = state.withLock { $0.bearer }?.end ?? DisconnectReason(.closedLocally)
        return .linkEnded(reason, operation: "secure link", object: "with \(peripheral)")
    }
}
