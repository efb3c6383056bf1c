import BLEProtocol
import BLERadio
import Synchronization

/// Values that are taken one at a time, with or without waiting, each by one consumer; the number is limited.
///
/// Waiting consumers are woken, and then one of them takes the value: a wait that ends at the same moment, because of
/// its limit or its cancellation, takes no value with it.
final class Inbox<Element: Sendable>: Sendable {
    /// A waiting consumer, with the number of the wait: undoing one may come after the next has begun.
    private typealias Waiter = (number: Int, wake: @Sendable () -> Void)

    private struct State {
        var elements = Ring<Element>()
        /// The consumer that began to wait last.
        var waiter: Waiter?
        /// Those that were waiting already; none where one task takes all, so that a wait needs no array.
        var others: [Waiter] = []
        var lastWait = 0
        var end: (any Error)?

        /// The next element, or the end after all of them; `nil` if there is neither yet.
        mutating func next() -> Result<Element, any Error>? {
            elements.popFirst().map { .success($0) } ?? end.map { .failure($0) }
        }

        mutating func wait(_ new: Waiter) {
            if let waiter { others.append(waiter) }
            waiter = new
        }

        /// All that wait, to be woken without the lock.
        mutating func takeWaiters() -> (last: Waiter?, others: [Waiter]) {
            var taken: [Waiter] = []
            swap(&taken, &others)
            return (waiter.take(), taken)
        }

        mutating func takeWaiter(_ number: Int) -> Waiter? {
            if waiter?.number == number { return waiter.take() }
            return others.firstIndex { $0.number == number }.map { others.remove(at: $0) }
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
        let waiters = state.withLock { state in
            guard state.end == nil else { return state.takeWaiters() }
            state.elements.append(element)
            if state.elements.count > capacity {
                state.end = BLEError.bufferOverflow(StreamSubject(operation: "events"), capacity: capacity)
            }
            return state.takeWaiters()
        }
        wake(waiters)
    }

    /// Ends it after the elements it has; or immediately, without them.
    func finish(_ error: any Error, droppingElements: Bool = false) {
        let (waiters, dropped) = state.withLock { state in
            let dropped = droppingElements ? state.elements : Ring()
            if droppingElements { state.elements = Ring() }
            if state.end == nil || droppingElements { state.end = error }
            return (state.takeWaiters(), dropped)
        }
        wake(waiters)
        withExtendedLifetime(dropped) {}
    }

    /// Wakes all, in the order in which they began to wait: whoever finds nothing waits again.
    private func wake(_ waiters: (last: Waiter?, others: [Waiter])) {
        for waiter in waiters.others { waiter.wake() }
        waiters.last?.wake()
    }

    /// Drops elements that are no longer of use.
    func removeAll(where isStale: (Element) -> Bool) {
        state.withLock { state in
            var kept = Ring<Element>()
            for element in state.elements.elements where !isStale(element) { kept.append(element) }
            state.elements = kept
        }
    }

    /// The next element, if there is one, and it is wanted now.
    func take(if isWanted: (Element) -> Bool = { _ in true }) -> Element? {
        state.withLock { state in
            guard let next = state.elements.first, isWanted(next) else { return nil }
            return state.elements.popFirst()
        }
    }

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
                state.wait((state.lastWait, { finish(.success(())) }))
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
        let waiter = state.withLock { $0.takeWaiter(number) }
        withExtendedLifetime(waiter) {}
    }
}
