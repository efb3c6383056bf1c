import Synchronization

/// Wakes the consumer of one iteration; may be called from any thread, and by several sources and timers.
///
/// However often it is woken before it polls, the consumer wakes up once and finds everything that has arrived; waking
/// it while it is busy has no effect.
///
/// A source stores its news under its lock, and then wakes; the consumer first listens and then polls, under the same
/// lock. So either the poll finds the news, or the wake-up finds a listening consumer: none is lost.
///
/// It is a single continuation, not an `AsyncThrowingStream` without values, which took 9,000 more instructions each
/// time: most notifications arrive one at a time, and that was more than a third of all work for one.
@usableFromInline
final class Waker: Sendable {
    /// The consumer's state.
    private enum Consumer {
        /// It has not asked to be woken.
        case busy
        /// It polls for the last time before it waits.
        case listening
        /// It was woken before it waited.
        case woken
        case waiting(UnsafeContinuation<Bool, Never>)
        /// Its task was cancelled before it waited.
        case cancelled
    }

    private static let oneConsumer = "an iterator has one consumer, which is already waiting"

    private let consumer = Mutex(Consumer.busy)
    private let forward: (@Sendable () -> Void)?
    /// The waker of the consumer that gets what is polled; `nil` if that is this one.
    private let outer: Waker?
    private let isDroppingError = Atomic(false)

    init() {
        forward = nil
        outer = nil
    }

    /// For an operator with several upstreams or consumers: each wake-up calls the closure, and nobody waits.
    ///
    /// - Parameter consumer: the waker of the consumer that gets what is polled; `nil` if that is this one.
    init(for consumer: Waker? = nil, _ forward: @escaping @Sendable () -> Void) {
        self.forward = forward
        outer = consumer
    }

    /// The waker of whoever gets what is polled: it stays the same when `retry` opens a stream again.
    var origin: Waker { outer?.origin ?? self }

    /// Whether what is being closed has failed, and nobody gets the error, nor what that hands out.
    var dropsError: Bool { isDroppingError.load(ordering: .relaxed) || outer?.dropsError == true }

    /// Closes what has failed, where the consumer doesn't get the error. In the consumer's context, as all closing.
    func dropError(_ close: () -> Void) {
        isDroppingError.store(true, ordering: .relaxed)
        close()
        isDroppingError.store(false, ordering: .relaxed)
    }

    /// Makes the consumer poll again.
    @usableFromInline
    func wake() {
        if let forward { return forward() }
        let waiting = consumer.withLock { consumer -> UnsafeContinuation<Bool, Never>? in
            switch consumer {
            case .busy, .woken, .cancelled: return nil
            case .listening:
                consumer = .woken
                return nil
            case .waiting(let continuation):
                consumer = .busy
                return continuation
            }
        }
        waiting?.resume(returning: true)
    }

    /// Called before the last poll before waiting: later news wakes the consumer.
    ///
    /// - Returns: whether it has been listening, and nothing came meanwhile: the consumer may wait. Otherwise it polls
    ///   once more.
    @usableFromInline
    @discardableResult
    func listen() -> Bool {
        consumer.withLock { consumer in
            switch consumer {
            case .listening: return true
            case .waiting: preconditionFailure(Self.oneConsumer)
            case .busy, .woken, .cancelled:
                consumer = .listening
                return false
            }
        }
    }

    /// Waits until it is woken; once for all news since `listen()`.
    ///
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    // Inlined, which spares a frame, and with it a look at the executor.
    @inlinable
    @inline(__always)
    func wait(isolation actor: isolated (any Actor)? = #isolation) async throws {
        let isWoken = await withTaskCancellationHandler {
            // Capturing it isolates the closure to the actor: otherwise a wait on the main actor takes two more changes
            // of thread.
            _ = actor
            return await withUnsafeContinuation { begin($0) }
        } onCancel: {
            cancel()
        }
        if !isWoken { throw CancellationError() }
    }

    /// The same, for a caller that calls ``cancel()`` when its task is cancelled.
    ///
    /// A task sets its mark before it calls whoever is to hear of that: one that was cancelled before `listen()` has
    /// the mark by now, and of a later one `begin` or the wait itself learns.
    @inlinable
    @inline(__always)
    func waitWithoutHandler(isolation actor: isolated (any Actor)? = #isolation) async throws {
        try Task.checkCancellation()
        let isWoken = await withUnsafeContinuation { begin($0) }
        if !isWoken { throw CancellationError() }
    }

    /// Waits with this continuation, unless there is news already.
    @usableFromInline
    func begin(_ continuation: UnsafeContinuation<Bool, Never>) {
        let outcome = consumer.withLock { consumer -> Bool? in
            switch consumer {
            case .listening:
                consumer = .waiting(continuation)
                return nil
            case .cancelled:
                consumer = .busy
                return false
            case .busy, .woken:
                consumer = .busy
                return true
            case .waiting: preconditionFailure(Self.oneConsumer)
            }
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    /// The consumer's task was cancelled.
    @usableFromInline
    func cancel() {
        let waiting = consumer.withLock { consumer -> UnsafeContinuation<Bool, Never>? in
            defer { consumer = .cancelled }
            if case .waiting(let continuation) = consumer { return continuation }
            return nil
        }
        waiting?.resume(returning: false)
    }
}
