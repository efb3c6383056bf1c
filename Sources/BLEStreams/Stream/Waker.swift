import Synchronization

/// Wakes the consumer of one iteration; may be called from anywhere, and by several sources and timers.
///
/// Underneath lies an `AsyncThrowingStream` that carries no values, only the news that there may be some. However often
/// it is woken before it looks, the consumer wakes up once and finds all that has come.
final class Waker: Sendable {
    private let isAwake = Atomic(false)
    private let bell: AsyncThrowingStream<Void, any Error>
    private let ringer: AsyncThrowingStream<Void, any Error>.Continuation

    init() {
        (bell, ringer) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Makes the consumer poll again.
    func wake() {
        if !isAwake.exchange(true, ordering: .acquiringAndReleasing) { ringer.yield() }
    }

    /// To be called before polling: what happens from now on rings again.
    func reset() { isAwake.store(false, ordering: .sequentiallyConsistent) }

    func makeWaiter() -> AsyncThrowingStream<Void, any Error>.Iterator { bell.makeAsyncIterator() }
}
