import BLERadio

/// What a radio tells through a closure, as something that a test can wait for, and the activity that tells it.
struct Events<Event: Sendable> {
    let stream: AsyncStream<Event>
    let activity: RadioActivity

    /// Starts an activity and takes all it tells.
    init(_ start: (@escaping @Sendable (Event) -> Void) -> RadioActivity) {
        let (stream, continuation) = AsyncStream<Event>.makeStream()
        self.stream = stream
        activity = start { continuation.yield($0) }
    }

    /// The next event, or the next that a test is after.
    func next(where isWanted: (Event) -> Bool = { _ in true }) async -> Event? {
        for await event in stream where isWanted(event) { return event }
        return nil
    }

    /// What the first event that has it brings.
    func first<Value>(_ part: (Event) -> Value?) async -> Value? {
        for await event in stream {
            if let value = part(event) { return value }
        }
        return nil
    }
}
