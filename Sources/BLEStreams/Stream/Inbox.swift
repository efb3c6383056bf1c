import BLEProtocol
import BLERadio
import Synchronization

/// Values that one consumer takes one at a time, with or without waiting; the number is limited.
///
/// A waiting consumer is woken and then takes the value: a wait that ends at the same moment, because of its limit or
/// its cancellation, takes no value with it.
final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var elements = Ring<Element>()
        /// The waiting consumer, with the number of the wait: undoing one may come after the next has begun.
        var waiter: (number: Int, wake: @Sendable () -> Void)?
        var lastWait = 0
        var end: (any Error)?

        /// The next element, or the end after all of them; `nil` if there is neither yet.
        mutating func next() -> Result<Element, any Error>? {
            elements.popFirst().map { .success($0) } ?? end.map { .failure($0) }
        }
    }

    private let timeline: any Timeline
    private let capacity: Int
    private let state = Mutex(State())

    init(timeline: any Timeline, capacity: Int = 65_536) {
        self.timeline = timeline
        self.capacity = capacity
    }

    /// Adds an element; one too many ends it.
    func send(_ element: Element) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return state.waiter.take() }
            state.elements.append(element)
            if state.elements.count > capacity {
                state.end = BLEError.bufferOverflow(StreamSubject(operation: "events"), capacity: capacity)
            }
            return state.waiter.take()
        }
        waiter?.wake()
    }

    /// Ends it after the elements it has; or immediately, without them.
    func finish(_ error: any Error, droppingElements: Bool = false) {
        let (waiter, dropped) = state.withLock { state in
            let dropped = droppingElements ? state.elements : Ring()
            if droppingElements { state.elements = Ring() }
            if state.end == nil || droppingElements { state.end = error }
            return (state.waiter.take(), dropped)
        }
        waiter?.wake()
        withExtendedLifetime(dropped) {}
    }

    /// Drops elements that are no longer of use.
    func removeAll(where isStale: (Element) -> Bool) {
        state.withLock { state in
            var kept = Ring<Element>()
            for element in state.elements.elements where !isStale(element) { kept.append(element) }
            state.elements = kept
        }
    }

    /// The next element, if there is one.
    func take() -> Element? { state.withLock { $0.elements.popFirst() } }

    /// The next element.
    ///
    /// - Throws: the error that ended it; `limit`'s error; `CancellationError`.
    func next(limit: (duration: Duration, error: @Sendable () -> any Error)? = nil) async throws -> Element {
        try Task.checkCancellation()
        let deadline = limit.map { timeline.now + $0.duration }
        while true {
            if let next = state.withLock({ $0.next() }) { return try next.get() }
            let left = limit.map { limit in (max(.zero, (deadline ?? .zero) - timeline.now), limit.error) }
            try await news(limit: left)
        }
    }

    /// Waits until there is an element or the end; another caller may take it first.
    private func news(limit: (Duration, @Sendable () -> any Error)?) async throws {
        try await reply(on: timeline, limit: limit) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            let number: Int? = state.withLock { state in
                guard state.elements.isEmpty, state.end == nil else { return nil }
                state.lastWait += 1
                state.waiter = (state.lastWait, { finish(.success(())) })
                return state.lastWait
            }
            guard let number else {
                finish(.success(()))
                return {}
            }
            return { self.stopWaiting(number) }
        }
    }

    private func stopWaiting(_ number: Int) {
        // Released outside the lock.
        let waiter = state.withLock { $0.waiter?.number == number ? $0.waiter.take() : nil }
        withExtendedLifetime(waiter) {}
    }
}
