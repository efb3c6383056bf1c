import BLEProtocol
import BLERadio
import Synchronization

/// The caller of an operation on a link, who is told how it ends.
protocol OperationCaller: AnyObject, Sendable {
    /// The link is free for the operation, whose limit begins. Called at most once, without a lock, and only for
    /// ``LinkMachine/Target/database(within:)``.
    func limit(to timeout: Duration)

    /// The operation has ended. Called once, without a lock, unless the operation is withdrawn first.
    func ended(_ result: Result<GATTSuccess, LinkFailure>)

    /// The pairing answers, if the link must be made more secure for it; `nil`: none.
    var answers: PairingAnswers? { get }

    /// Whether the link is made more secure for it after a refusal.
    var raisesAfterRefusal: Bool { get }
}

extension OperationCaller {
    var raisesAfterRefusal: Bool { true }
}

/// The wait of one operation, from its call to its outcome, and the words for its errors: all in one object, so that a
/// value costs no other allocation.
///
/// It keeps the promise of ``reply(on:limit:unwanted:isolation:start:)``: there is one outcome, whichever comes first
/// of the bearer's, the limit and the cancellation; a cancelled caller returns at once, and the operation is withdrawn,
/// once. Its state has no type parameter: the metadata of generic state is looked up when it is created and when it is
/// destroyed, which took a tenth of a read.
final class OperationWait: OperationCaller {
    typealias Continuation = UnsafeContinuation<GATTSuccess, any Error>

    private struct State {
        var continuation: Continuation?
        var timer: RadioActivity?
        var isOver = false
    }

    private let link: Link
    private let operation: String
    private let object: OperationObject
    /// Whether the object must be found first.
    private let isFound: Bool
    private let state = Mutex(State())
    /// Whether nobody waits any more while the operation may be in progress. It is set before the withdrawal, and read
    /// after the beginning, with the bearer's lock in between: whichever of the two comes second withdraws the
    /// operation.
    private let isAbandoned = Atomic(false)

    init(_ link: Link, _ operation: String, _ object: OperationObject, isFound: Bool) {
        self.link = link
        self.operation = operation
        self.object = object
        self.isFound = isFound
    }

    var answers: PairingAnswers? { link.answers }

    var raisesAfterRefusal: Bool { link.raisesAfterRefusal }

    /// Begins the operation, waits for its outcome, and reports it to the event handlers.
    @inline(__always)
    func success(
        of target: LinkMachine.Target,
        within timeout: Duration?,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> GATTSuccess {
        guard let events = link.peripheral.core.events else { return try await outcome(of: target, within: timeout) }
        let begin = events.timeline.now
        do {
            let success = try await outcome(of: target, within: timeout)
            events.ended(operation, object, since: begin)
            return success
        } catch {
            events.ended(operation, object, since: begin, throwing: error)
            throw error
        }
    }

    /// Begins the operation, and waits for its outcome. Inlined, to save a frame for each value.
    @inline(__always)
    private func outcome(
        of target: LinkMachine.Target,
        within timeout: Duration?,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> GATTSuccess {
        try await withTaskCancellationHandler {
            // The capture isolates the closure to the actor: otherwise a wait on the main actor takes two more changes
            // of thread.
            _ = actor
            // Unchecked: this object itself ensures that there is one outcome.
            return try await withUnsafeThrowingContinuation { begin(target, timeout, $0) }
        } onCancel: {
            abandon(CancellationError())
        }
    }

    /// Begins the operation. The outcome may come before this returns.
    private func begin(_ target: LinkMachine.Target, _ timeout: Duration?, _ continuation: Continuation) {
        let isCancelled = state.withLock { state in
            if !state.isOver { state.continuation = continuation }
            return state.isOver
        }
        if isCancelled {
            let end = link.bearer.end.map { BLEError.linkEnded($0, operation: operation, object: "\(object)") }
            return continuation.resume(throwing: end ?? CancellationError())
        }
        if let end = link.bearer.begin(target, pass: link.pass, for: self, refusesEnd: true) {
            return ended(.failure(.ended(end)))
        }
        if let timeout { limit(to: timeout) }
        if isAbandoned.load(ordering: .acquiring) { link.bearer.cancel(self) }
    }

    func limit(to timeout: Duration) {
        let timer = link.timeline.schedule(after: timeout) { [self] in
            // A radio tells of room late, and takes PDUs before: what it takes now has ended before it is given up.
            if link.bearer.delay(of: self) == .room { link.bearer.sendAgain() }
            let delay = link.bearer.delay(of: self)
            abandon(BLEError.tookTooLong(operation, object: "\(object)", after: timeout, waitingFor: delay))
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.timer = timer }
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    func ended(_ result: Result<GATTSuccess, LinkFailure>) {
        guard let (continuation, timer) = take() else { return }
        timer?.cancel()
        switch result {
        case .success(let success): continuation?.resume(returning: success)
        case .failure(let failure): continuation?.resume(throwing: error(failure))
        }
    }

    private func abandon(_ error: any Error) {
        guard let (continuation, timer) = take(isAbandoned: true) else { return }
        timer?.cancel()
        continuation?.resume(throwing: error)
        link.bearer.cancel(self)
    }

    /// Ends the wait, and takes what it holds; `nil` if it is over already.
    private func take(isAbandoned: Bool = false) -> (Continuation?, RadioActivity?)? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            if isAbandoned { self.isAbandoned.store(true, ordering: .releasing) }
            return (state.continuation.take(), state.timer.take())
        }
    }

    /// A failure in words.
    func error(_ failure: LinkFailure) -> BLEError {
        BLEError(
            failure,
            operation: operation,
            object: "\(object)",
            target: "\(isFound ? object.target : object)",
            security: link.bearer.radioLink.security
        )
    }
}

extension Link {
    /// The wait of an operation that is about to begin.
    func wait(for operation: String, _ object: OperationObject, isFound: Bool) throws -> OperationWait {
        if bearer.wouldWaitForItself(with: pass) {
            if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: "\(object)") }
            throw BLEError.waitingForItself(operation, "\(object)")
        }
        return OperationWait(self, operation, object, isFound: isFound)
    }
}

/// A caller that is a closure.
final class OperationCallback: OperationCaller {
    private let completion: @Sendable (Result<GATTSuccess, LinkFailure>) -> Void
    private let whoAnswers: @Sendable () -> PairingAnswers?

    init(
        answers: @escaping @Sendable () -> PairingAnswers? = { nil },
        completion: @escaping @Sendable (Result<GATTSuccess, LinkFailure>) -> Void
    ) {
        self.completion = completion
        whoAnswers = answers
    }

    var answers: PairingAnswers? { whoAnswers() }

    /// Nobody waits for it.
    func limit(to timeout: Duration) {}

    func ended(_ result: Result<GATTSuccess, LinkFailure>) { completion(result) }
}

extension Result<GATTSuccess, LinkFailure> {
    /// The outcome with the type that belongs to the operation.
    func typed<Typed>() -> Result<Typed, LinkFailure> where Typed: Sendable {
        switch self {
        case .success(let success):
            success.value(as: Typed.self).map { .success($0) } ?? .failure(.procedure(.cancelled))
        case .failure(let failure): .failure(failure)
        }
    }
}
