import BLEProtocol
import BLERadio
import Synchronization

/// Values that one consumer takes one at a time, waiting or not; bounded.
final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var elements = Ring<Element>()
        var waiter: (@Sendable (Result<Element, any Error>) -> Void)?
        var end: (any Error)?
    }

    private let timeline: any Timeline
    private let capacity: Int
    private let state = Mutex(State())

    init(timeline: any Timeline, capacity: Int = 65_536) {
        self.timeline = timeline
        self.capacity = capacity
    }

    /// Puts an element in; one too many ends it.
    func send(_ element: Element) {
        let waiter: (@Sendable (Result<Element, any Error>) -> Void)? = state.withLock { state in
            guard state.end == nil else { return nil }
            if let waiter = state.waiter.take() { return waiter }
            state.elements.append(element)
            if state.elements.count > capacity {
                state.end = BLEError.bufferOverflow(StreamSubject(operation: "events"), capacity: capacity)
            }
            return nil
        }
        waiter?(.success(element))
    }

    /// Ends it, behind what is in; or at once, without that.
    func finish(_ error: any Error, droppingElements: Bool = false) {
        let waiter: (@Sendable (Result<Element, any Error>) -> Void)? = state.withLock { state in
            if droppingElements { state.elements = Ring() }
            guard state.end == nil || droppingElements else { return nil }
            state.end = error
            return state.waiter.take()
        }
        waiter?(.failure(error))
    }

    /// Drops what is of no use any more.
    func removeAll(where isStale: (Element) -> Bool) {
        state.withLock { state in
            var kept = Ring<Element>()
            for element in state.elements.elements where !isStale(element) { kept.append(element) }
            state.elements = kept
        }
    }

    /// The next element if it is there.
    func take() -> Element? { state.withLock { $0.elements.popFirst() } }

    /// The next element.
    ///
    /// - Throws: what ended it; `limit`'s error; `CancellationError`.
    func next(limit: (duration: Duration, error: @Sendable () -> any Error)? = nil) async throws -> Element {
        try Task.checkCancellation()
        if let element = take() { return element }
        return try await reply(on: timeline, limit: limit) { finish in
            let now: Result<Element, any Error>? = state.withLock { state in
                if let element = state.elements.popFirst() { return .success(element) }
                if let end = state.end { return .failure(end) }
                state.waiter = finish
                return nil
            }
            if let now { finish(now) }
            return { self.state.withLock { $0.waiter = nil } }
        }
    }
}
