import Synchronization

/// Wakes the consumer of one iteration; may be called from anywhere, and by several sources and timers.
///
/// However often it is woken before it looks, the consumer wakes up once and finds all that has come; while it is busy,
/// waking it changes nothing.
///
/// A source puts its news in place under its lock, and wakes then; the consumer listens first, and polls then, under
/// the same lock. So either the poll finds the news, or the waking finds a consumer that listens: none is lost.
///
/// It is one continuation and no `AsyncThrowingStream` without values, which took 9,000 instructions more each time:
/// most notifications come one at a time, and that was more than a third of all that is done for one.
@usableFromInline
final class Waker: Sendable {
    /// What the consumer does.
    private enum Consumer {
        /// It has not asked to be woken.
        case busy
        /// It looks for the last time before it waits.
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

    init() { forward = nil }

    /// For an operator with several upstreams or consumers: each waking calls the closure, and nobody waits.
    init(_ forward: @escaping @Sendable () -> Void) { self.forward = forward }

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

    /// To be called before the last poll before waiting: what happens from now on wakes.
    @usableFromInline
    func listen() {
        consumer.withLock { consumer in
            if case .waiting = consumer { preconditionFailure(Self.oneConsumer) }
            consumer = .listening
        }
    }

    /// Waits until it is woken; once for all that happened since `listen()`.
    ///
    /// - Throws: `CancellationError` where the waiting task is cancelled.
    @usableFromInline
    func wait(isolation actor: isolated (any Actor)? = #isolation) async throws {
        let isWoken = await withTaskCancellationHandler {
            // Captured, it makes the closure the actor's: else a wait on the main actor takes two changes of thread more.
            _ = actor
            return await withUnsafeContinuation { continuation in
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
        } onCancel: {
            let waiting = consumer.withLock { consumer -> UnsafeContinuation<Bool, Never>? in
                defer { consumer = .cancelled }
                if case .waiting(let continuation) = consumer { return continuation }
                return nil
            }
            waiting?.resume(returning: false)
        }
        if !isWoken { throw CancellationError() }
    }
}
