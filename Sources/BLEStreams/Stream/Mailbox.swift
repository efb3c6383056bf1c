import BLEProtocol
import Synchronization

/// The buffer between a source, which never waits, and one consumer, who takes all that has come in one wake-up.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var buffer = Ring<Element>()
        var counters = StreamCounters()
        /// `.some(nil)`: ended without an error.
        var end: (any Error)??
    }

    private let policy: BufferPolicy
    private let waker: Waker
    private let state = Mutex(State())

    init(policy: BufferPolicy, waker: Waker) {
        self.policy = policy
        self.waker = waker
    }

    var counters: StreamCounters { state.withLock { $0.counters } }

    /// Puts a value in; never waits. Values after the end are ignored.
    func send(_ element: Element) {
        let wasEmpty = state.withLock { state in
            guard state.end == nil else { return false }
            let wasEmpty = state.buffer.isEmpty
            put(element, into: &state)
            return wasEmpty
        }
        if wasEmpty { waker.wake() }
    }

    /// Puts several values in, with one lock and one wake-up.
    func send(contentsOf elements: some Sequence<Element>) {
        let wasEmpty = state.withLock { state in
            guard state.end == nil else { return false }
            let wasEmpty = state.buffer.isEmpty
            for element in elements where state.end == nil { put(element, into: &state) }
            return wasEmpty
        }
        if wasEmpty { waker.wake() }
    }

    /// Ends the stream after what is in the buffer; with an error, or without.
    func finish(throwing error: (any Error)? = nil) {
        state.withLock { state in
            if state.end == nil { state.end = .some(error) }
        }
        waker.wake()
    }

    /// The consumer has left: what is still here is dropped, and counted.
    func close() {
        let rest = state.withLock { state in
            state.counters.dropped += state.buffer.count
            state.end = .some(nil)
            let rest = state.buffer
            state.buffer = Ring()
            return rest
        }
        // Values are destroyed outside the lock: what they hold may have a `deinit` of its own.
        _ = consume rest
    }

    private func put(_ element: Element, into state: inout State) {
        state.counters.received += 1
        if state.buffer.count >= policy.capacity {
            state.counters.dropped += 1
            switch policy {
            case .unbounded: break
            case .newest: _ = state.buffer.popFirst()
            case .oldest: return
            case .fail(let capacity):
                state.end = .some(BLEError.bufferOverflow(capacity: capacity))
                return
            }
        }
        state.buffer.append(element)
        state.counters.highWaterMark = max(state.counters.highWaterMark, state.buffer.count)
    }

    // MARK: - The consumer's side

    /// The consumer's view; made once. `onClose` undoes what opening the source did.
    func cursor(onClose: @escaping @Sendable () -> Void = {}) -> Cursor<Element> {
        let batch = Batch(mailbox: self)
        return Cursor(poll: { try batch.poll() }) {
            onClose()
            self.close()
        }
    }

    /// What the consumer took in one go and has not used yet.
    private final class Batch {
        private let mailbox: Mailbox
        private var values = Ring<Element>()

        init(mailbox: Mailbox) { self.mailbox = mailbox }

        func poll() throws -> Polled<Element> {
            if let element = values.popFirst() { return .element(element) }
            return try mailbox.take(&values)
        }

        deinit { mailbox.putBack(values.count) }
    }

    /// The next element; where nothing may be dropped, the rest of the buffer comes with it in `values`.
    ///
    /// With another policy elements are taken one by one: those in the consumer's hands would not count as buffered.
    private func take(_ values: inout Ring<Element>) throws -> Polled<Element> {
        let end: (any Error)? = state.withLock { state in
            if policy == .unbounded {
                swap(&state.buffer, &values)
                state.counters.delivered += values.count
            } else if let element = state.buffer.popFirst() {
                values.append(element)
                state.counters.delivered += 1
            }
            guard values.isEmpty, let end = state.end else { return Pending() }
            return end
        }
        if let element = values.popFirst() { return .element(element) }
        guard let end else { return .end }
        if end is Pending { return .pending }
        throw end
    }

    private struct Pending: Error {}

    /// Values that were handed over in a batch, and not taken by the consumer.
    private func putBack(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { state in
            state.counters.delivered -= count
            state.counters.dropped += count
        }
    }
}
