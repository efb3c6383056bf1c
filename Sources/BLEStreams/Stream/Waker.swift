import Synchronization

/// Wakes the consumer of one iteration; may be called from anywhere, and by several sources and timers.
///
/// Underneath lies an `AsyncThrowingStream` that carries no values, only the news that there may be some. However often
/// it is woken before it looks, the consumer wakes up once and finds all that has come; while it is busy, waking it
/// costs one atomic exchange.
///
/// A source puts its news in place under its lock, and wakes then; the consumer listens first, and polls then, under
/// the same lock. So either the poll finds the news, or the waking finds a consumer that listens: none is lost.
@usableFromInline
final class Waker: Sendable {
    private enum Target: Sendable {
        case bell(AsyncThrowingStream<Void, any Error>, AsyncThrowingStream<Void, any Error>.Continuation)
        case closure(@Sendable () -> Void)
    }

    private let target: Target
    private let isListening = Atomic(false)

    init() {
        let (bell, ringer) = AsyncThrowingStream<Void, any Error>.makeStream(bufferingPolicy: .bufferingNewest(1))
        target = .bell(bell, ringer)
    }

    /// For an operator with several upstreams or consumers: each waking calls the closure, and nobody waits.
    init(_ forward: @escaping @Sendable () -> Void) { target = .closure(forward) }

    /// Makes the consumer poll again.
    @usableFromInline
    func wake() {
        switch target {
        case .closure(let forward): forward()
        case .bell(_, let ringer):
            if isListening.exchange(false, ordering: .acquiringAndReleasing) { ringer.yield() }
        }
    }

    /// To be called before the last poll before waiting: what happens from now on rings.
    func listen() { isListening.store(true, ordering: .sequentiallyConsistent) }

    /// Waits until it rings; woken once for all that happened since `listen()`.
    ///
    /// - Throws: `CancellationError`; the bell ends only when the waiting task is cancelled.
    func wait(isolation actor: isolated (any Actor)?) async throws {
        guard case .bell(let bell, _) = target else { return }
        var iterator = bell.makeAsyncIterator()
        guard try await iterator.next(isolation: actor) != nil else { throw CancellationError() }
    }
}
