public import BLERadio
import Synchronization

extension BLEStream {
    /// The elements of any asynchronous sequence, to be chained with operators.
    ///
    /// ```swift
    /// let orders = AsyncStream<Int> { orders in orders.yield(1) }
    /// for try await order in BLEStream(orders).timeout(.seconds(60)) { print(order) }
    /// ```
    ///
    /// The sequence is asked for an element when the consumer is, so nothing is read ahead, and nothing is dropped. It
    /// is iterated by a task of its own, one for each iteration: an element costs two changes of thread. In virtual
    /// time, pass that timeline, so that the task runs there.
    ///
    /// - End: with the sequence, or its error.
    /// - Throws (in the loop): what the sequence throws.
    /// - Cancellation and an early `break` cancel the task; it ends as soon as the sequence takes notice.
    public init<Elements: AsyncSequence & Sendable>(
        _ elements: Elements,
        timeline: any Timeline = RealTimeline()
    ) where Elements.Element == Element {
        self.init(.values, timeline: timeline) { waker in
            let pull = SequencePull<Element>(waker)
            let task = Task(executorPreference: timeline as? any TaskExecutor) {
                do {
                    var iterator = elements.makeAsyncIterator()
                    while await pull.isWanted() {
                        guard let element = try await iterator.next() else { break }
                        pull.put(element)
                    }
                    pull.end(throwing: nil)
                } catch {
                    pull.end(throwing: error)
                }
            }
            return Cursor(
                poll: pull.poll,
                stop: pull.stop,
                close: {
                    pull.stop()
                    task.cancel()
                }
            )
        }
    }
}

/// Passes elements from a task to a cursor, one at a time, and only when one is wanted.
private final class SequencePull<Element: Sendable>: Sendable {
    private struct State {
        var element: Element?
        var error: (any Error)?
        var isAtEnd = false
        var isWanted = false
        var isStopped = false
        var demand: CheckedContinuation<Bool, Never>?
    }

    private let waker: Waker
    private let state = Mutex(State())

    init(_ waker: Waker) { self.waker = waker }

    // MARK: - The cursor's side

    func poll() throws -> Polled<Element> {
        typealias Answer = (Result<Polled<Element>, any Error>, CheckedContinuation<Bool, Never>?)
        let (result, demand) = state.withLock { state -> Answer in
            if let element = state.element.take() {
                // The caller that wanted it has it.
                state.isWanted = false
                return (.success(.element(element)), nil)
            }
            if let error = state.error.take() { return (.failure(error), nil) }
            if state.isAtEnd || state.isStopped { return (.success(.end), nil) }
            let demand = state.demand.take()
            state.isWanted = demand == nil
            return (.success(.pending), demand)
        }
        demand?.resume(returning: true)
        return try result.get()
    }

    /// Nothing more is wanted; an element that has arrived may still be taken.
    func stop() {
        let demand = state.withLock { state in
            state.isStopped = true
            return state.demand.take()
        }
        demand?.resume(returning: false)
    }

    // MARK: - The task's side

    /// Waits until an element is wanted; `false` if none will be.
    func isWanted() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.isStopped { return false }
                // Polling twice before an element arrives asks for only one.
                if state.isWanted, state.element == nil {
                    state.isWanted = false
                    return true
                }
                state.demand = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func put(_ element: Element) {
        state.withLock { $0.element = element }
        waker.wake()
    }

    func end(throwing error: (any Error)?) {
        state.withLock { state in
            state.error = error
            state.isAtEnd = true
        }
        waker.wake()
    }
}
