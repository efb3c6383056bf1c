package import BLERadio
import Synchronization

/// What a radio tells through a closure, as something that a test can wait for, and the activity that tells it.
package struct Events<Event: Sendable>: Sendable {
    package let stream: AsyncStream<Event>
    package let activity: RadioActivity
    private let counter = Counter()

    /// Starts an activity and takes all it tells.
    package init(_ start: (@escaping @Sendable (Event) -> Void) -> RadioActivity) {
        let (stream, continuation) = AsyncStream<Event>.makeStream()
        self.stream = stream
        let counter = counter
        activity = start { event in
            counter.count.withLock { $0 += 1 }
            continuation.yield(event)
        }
    }

    /// How many events were told so far.
    package var count: Int { counter.count.withLock { $0 } }

    /// The next event, or the next that a test is after.
    package func next(where isWanted: (Event) -> Bool = { _ in true }) async -> Event? {
        for await event in stream where isWanted(event) { return event }
        return nil
    }

    /// What the first event that has it brings.
    package func first<Value>(_ part: (Event) -> Value?) async -> Value? {
        for await event in stream {
            if let value = part(event) { return value }
        }
        return nil
    }

    private final class Counter: Sendable { let count = Mutex(0) }
}
