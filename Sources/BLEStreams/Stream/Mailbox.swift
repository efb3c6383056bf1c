import BLEProtocol
import Synchronization

/// The buffer between a source, which never waits, and one consumer, who takes all waiting values in one wake-up.
final class Mailbox<Element: Sendable>: Sendable {
    struct State {
        var buffer = Backlog<Element>()
        /// How many elements have left the buffer: the number of its first element.
        var first = 0
        /// The gap before the first element, and the gaps after it, each with the number of the element that follows.
        var gap: StreamGap?
        var laterGaps = Ring<(number: Int, gap: StreamGap)>()
        /// How many gaps were added, merged ones included, and the place of those that the consumer has taken last.
        var gapsAdded = 0
        var told = GapPlace()

        var received = 0
        var dropped = 0
        /// How many of them came behind the end, which the consumer has not been told yet.
        var droppedBehindEnd = 0
        var highWaterMark = 0
        var end: End?
        /// Whether the consumer is about to leave, and whether it has used a part of the first element.
        var (isLeaving, hasCut) = (false, false)
        /// How many sources hand over what an earlier consumer has left.
        var takeovers = 0
        /// How many elements were taken over, which a buffer that fails holds beyond its capacity, and the number of
        /// the element behind the last one.
        var takenOver = (count: 0, end: 0)
        /// The number of the element behind the last one when the first of several takeovers began.
        var takeoverBegan = 0
        /// Whether the consumer takes only what was there when it was stopped; the rest is the next one's.
        var isStopped = false

        var isEmpty: Bool { buffer.isEmpty && gap == nil && laterGaps.isEmpty }

        /// How many of the elements that were taken over still wait.
        func waitingOfTakenOver(_ inHand: Int) -> Int { min(takenOver.count, max(takenOver.end - (first - inHand), 0)) }
    }

    enum End {
        case finished
        case failed(any Error)
        /// The consumer has left: nothing is counted any more.
        case closed
    }

    private let policy: BufferPolicy
    /// Those of the policy, which each value asks for.
    private let capacity: Int
    let keepsWhatItHas: Bool
    private let waker: Waker
    private let subject: StreamSubject
    private let tally: Tally?
    let state = Mutex(State())

    /// How many elements the consumer has taken together and not used yet. They still count as waiting.
    let inHand = Atomic(0)

    init(
        policy: BufferPolicy,
        waker: Waker,
        subject: StreamSubject = StreamSubject(operation: "receive"),
        tally: Tally? = nil
    ) {
        self.policy = policy
        (capacity, keepsWhatItHas) = (policy.capacity, policy.keepsWhatItHas)
        self.waker = waker
        self.subject = subject
        self.tally = tally
        // Before any source knows it: each value is counted as it comes.
        tally?.began(self) { [self] in counters }
    }

    /// Whether there is room for so many more elements, with so many in the consumer's hand.
    @inline(__always)
    private func hasRoom(for count: Int, _ inHand: Int, in state: borrowing State) -> Bool {
        let sum = state.buffer.count + inHand + count
        return sum <= capacity || mayExceed(by: sum - capacity, inHand, state)
    }

    /// Whether so many elements may wait beyond the policy's capacity.
    @inline(never)
    private func mayExceed(by count: Int, _ inHand: Int, _ state: borrowing State) -> Bool {
        if policy.fails, state.isLeaving || state.takeovers > 0 { return true }
        return count <= state.waitingOfTakenOver(inHand) + (state.isStopped ? Self.keptWhenStopped : 0)
    }

    // MARK: - The source's side

    /// Adds a value; never waits. After the end the value is dropped, and the result is `false`.
    @discardableResult
    func send(_ element: Element) -> Bool { send(contentsOf: CollectionOfOne(element)) }

    /// Adds several values, with one lock and one wake-up; `false` if the stream is over now.
    @discardableResult
    func send(contentsOf elements: some Collection<Element>) -> Bool {
        woken(put(elements) { $0.append(contentsOf: $1) })
    }

    /// Adds values that arrived together, and keeps them in their array.
    @discardableResult
    func send(burst elements: [Element]) -> Bool { woken(put(burst: elements)) }

    private func woken(_ put: Put) -> Bool {
        if put.mustWake { wake() }
        return !put.isOver
    }

    /// The result of adding values.
    struct Put {
        /// Whether the consumer must be told, with ``Mailbox/wake()``.
        var mustWake = false
        /// Whether the stream is over now.
        var isOver = true
    }

    /// Adds values like ``send(contentsOf:)``, without a wake-up: for a source that holds a lock meanwhile.
    func put(contentsOf elements: some Collection<Element>) -> Put { put(elements) { $0.append(contentsOf: $1) } }

    /// Adds values like ``send(burst:)``, without a wake-up: for a source that holds a lock meanwhile.
    func put(burst elements: [Element]) -> Put {
        // Values that may be displaced are kept one by one: their array would retain them.
        guard keepsWhatItHas else { return put(contentsOf: elements) }
        return put(elements) { $0.append(burst: $1) }
    }

    /// Tells the consumer that something was added; call it without a lock.
    func wake() { waker.wake() }

    private func put<Elements: Collection<Element>>(
        _ elements: Elements,
        append: (inout Backlog<Element>, Elements) -> Void
    ) -> Put {
        // Destroyed outside the lock: a value may have a `deinit` of its own.
        var displaced: [Element] = []
        var result = Put()
        result.mustWake = alter { state in
            let inHand = inHand.load(ordering: .relaxed)
            if state.end == nil, hasRoom(for: elements.count, inHand, in: state) {
                state.received += elements.count
                append(&state.buffer, elements)
                state.highWaterMark = max(state.highWaterMark, state.buffer.count + inHand)
            } else {
                for element in elements { place(element, into: &state, &displaced) }
            }
            result.isOver = state.end != nil
        }
        return result
    }

    private func place(_ element: Element, into state: inout State, _ displaced: inout [Element]) {
        state.received += 1
        let inHand = keepsWhatItHas ? inHand.load(ordering: .relaxed) : 0
        if state.end == nil, hasRoom(for: 1, inHand, in: state) {
            state.buffer.append(element)
            state.highWaterMark = max(state.highWaterMark, state.buffer.count + inHand)
            return
        }
        state.dropped += 1
        guard state.end == nil else {
            state.droppedBehindEnd += 1
            return
        }
        if state.isStopped { return addGap(StreamGap(dropped: 1), to: &state) }
        switch policy {
        case .newest:
            if let oldest = state.buffer.popFirst() { displaced.append(oldest) }
            state.first += 1
            state.buffer.append(element)
            mergeGapsAtFront(of: &state, with: StreamGap(dropped: 1))
        // No memory is that large; if one were, what didn't fit would be reported all the same.
        case .unbounded, .oldest: addGap(StreamGap(dropped: 1), to: &state)
        case .fail(let capacity):
            state.end = .failed(BLEError.bufferOverflow(subject, capacity: capacity))
            state.droppedBehindEnd = 1
        }
    }

    /// Records values that were dropped before they arrived here, as the kernel reports them.
    func lost(_ count: Int) { if put(lost: count) { wake() } }

    /// As ``lost(_:)``, without a wake-up; returns whether the consumer must be told.
    func put(lost count: Int) -> Bool {
        guard count > 0 else { return false }
        return alter { state in
            state.received += count
            state.dropped += count
            addGap(StreamGap(dropped: count), to: &state)
        }
    }

    /// Records that nothing could be received for some time, until now.
    func interrupted(by reason: any Error, for duration: Duration) {
        pass(StreamGap(reason: reason, duration: duration))
    }

    /// Passes on a gap that was counted elsewhere.
    func pass(_ gap: StreamGap) { if put(gap) { wake() } }

    /// As ``pass(_:)``, without a wake-up; returns whether the consumer must be told.
    func put(_ gap: StreamGap) -> Bool {
        alter { state in addGap(gap, to: &state) }
    }

    /// Ends the stream after the values in the buffer, with an error or without.
    func finish(throwing error: (any Error)? = nil) {
        let mustWake = alter { state in
            if state.end == nil { state.end = error.map(End.failed) ?? .finished }
        }
        if mustWake { wake() }
    }

    /// Changes the state unless the consumer has left; returns whether it must be woken, since there was nothing
    /// before.
    func alter(_ body: (inout State) -> Void) -> Bool {
        state.withLock { state in
            if case .closed = state.end { return false }
            let wasEmpty = state.isEmpty
            body(&state)
            return wasEmpty
        }
    }

    // MARK: - The consumer's side

    /// The consumer's cursor; made once. `onClose` is called once, and undoes what opening the source did.
    ///
    /// - Parameter suffix: an element with only as many octets at its end: what a consumer has not used of it.
    func cursor(
        onClose: @escaping () -> Void = {},
        suffix: (@Sendable (Element, Int) -> Element)? = nil
    ) -> Cursor<Element> {
        let consumer = Consumer(mailbox: self, onClose: onClose)
        guard let suffix else {
            return Cursor(poll: { try consumer.poll() }, stop: consumer.stop, close: consumer.close)
        }
        return Cursor(
            poll: { try consumer.pollKeeping() },
            used: { remaining in consumer.used(remaining, suffix) },
            stop: consumer.stopKeeping,
            close: consumer.close
        )
    }

    /// The elements that the consumer has taken together and not used yet.
    private final class Consumer {
        private let mailbox: Mailbox
        // Unchecked: a cursor belongs to one consumer, who calls one function at a time.
        @exclusivity(unchecked)
        private var values = Backlog<Element>()
        private var onClose: (() -> Void)?
        /// What it has handed out and is not used yet; `nil` for a consumer that uses each element at once.
        @exclusivity(unchecked)
        private var unused: UnusedElements<Element>?
        /// How many elements it still hands out, once it has been stopped.
        @exclusivity(unchecked) private var remaining: Int?

        init(mailbox: Mailbox, onClose: @escaping () -> Void) {
            self.mailbox = mailbox
            self.onClose = onClose
        }

        func poll() throws -> Polled<Element> {
            guard let element = values.popFirst() else { return try mailbox.take(&values) }
            mailbox.inHand.store(values.count, ordering: .relaxed)
            return .element(element)
        }

        /// The same for a source that keeps what it hands out, once somebody says what is used.
        func pollKeeping() throws -> Polled<Element> {
            if remaining == 0 { return .end }
            let polled = try poll()
            if case .element(let element) = polled {
                unused?.append(element)
                remaining = remaining.map { $0 - 1 }
            }
            return polled
        }

        func used(_ remaining: Int, _ suffix: (Element, Int) -> Element) {
            var last = UnusedElements<Element>()
            if remaining > 0, let element = unused?.last { last.append(restOfFirst: suffix(element, remaining)) }
            unused = last
        }

        func stop() {
            onClose.take()?()
            mailbox.finish()
        }

        /// The same for a source that learns only when it is closed how it was left: what comes from now on follows
        /// what this consumer has not used, and is the next one's.
        func stopKeeping() { if remaining == nil { remaining = mailbox.stop() } }

        func close() {
            if let onClose = onClose.take() {
                mailbox.leave(&values, unused)
                onClose()
            }
            mailbox.close()
            values = Backlog()
            unused = nil
        }
    }

    /// The next element. If waiting values are never displaced, `values` receives the rest of the buffer.
    private func take(_ values: inout Backlog<Element>) throws -> Polled<Element> {
        try state.withLock { state in
            if !state.laterGaps.isEmpty { mergeGapsAtFront(of: &state) }
            if state.gap != nil, let gap = takeGap(of: &state, &values) { return .gap(gap) }
            if keepsWhatItHas, state.laterGaps.isEmpty, !state.buffer.isEmpty {
                swap(&state.buffer, &values)
                state.first += values.count
                let element = values.popFirst()
                inHand.store(values.count, ordering: .relaxed)
                if let element { return .element(element) }
            }
            if let element = state.buffer.popFirst() {
                state.first += 1
                return .element(element)
            }
            switch state.end {
            case nil:
                // The memory of a burst isn't kept forever.
                state.buffer.shrink()
                values.shrink()
                return .pending
            case .finished, .closed: return .end
            case .failed(let error): throw tell(error, of: &state)
            }
        }
    }

    /// The consumer has left: waiting values are dropped and counted.
    private func close() {
        // The old state is destroyed outside the lock.
        _ = state.withLock { state in
            let old = state
            state.dropped += waiting(in: state)
            inHand.store(0, ordering: .relaxed)
            state.buffer = Backlog()
            state.gap = nil
            state.laterGaps = Ring()
            state.end = .closed
            return old
        }
        tally?.ended(self)
    }
}
