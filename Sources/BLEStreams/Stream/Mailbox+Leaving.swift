import Synchronization

// What a consumer leaves behind.
extension Mailbox {
    /// The values that a consumer has not taken, each with the gap before it.
    struct Rest {
        var elements: [(element: Element, gap: StreamGap?)] = []
        /// The number of the first one in the buffer, and the place of the gaps that the consumer has taken last.
        var first = 0
        var told = GapPlace()
        /// The gap after them.
        var gap: StreamGap?
        /// Whether this is all that ever came, gaps included.
        var isUntouched = false
    }

    /// The consumer is about to leave: what it has in hand is in front of the buffer again, for ``takeRest()``, and
    /// before that what it has not used.
    func leave(_ values: inout Backlog<Element>, _ unused: UnusedElements<Element>?) {
        state.withLock { state in
            state.isLeaving = true
            if !values.isEmpty || unused?.isEmpty == false { putGapBack(in: &state) }
            if let unused, !unused.isEmpty { putBack(unused, before: &values, in: &state) }
            guard !values.isEmpty else { return }
            state.first -= values.count
            while let element = state.buffer.popFirst() { values.append(element) }
            swap(&state.buffer, &values)
            inHand.store(0, ordering: .relaxed)
        }
    }

    /// A gap before the buffer is one behind what comes in front of it again.
    private func putGapBack(in state: inout State) {
        guard let gap = state.gap.take() else { return }
        let later = state.laterGaps.elements
        state.laterGaps = Ring()
        state.laterGaps.append((state.first, gap))
        state.laterGaps.append(contentsOf: later)
    }

    private func putBack(
        _ unused: UnusedElements<Element>,
        before values: inout Backlog<Element>,
        in state: inout State
    ) {
        state.hasCut = unused.isCut
        if unused.dropped > 0 { state.gap = StreamGap(dropped: unused.dropped) }
        var elements = Backlog<Element>()
        for element in unused.elements { elements.append(element) }
        while let element = values.popFirst() { elements.append(element) }
        values = elements
    }

    /// How many elements that come behind a stop are kept for the next consumer, whatever the policy.
    static var keptWhenStopped: Int { 1024 }

    /// The consumer wants no more than what is here: returns how many elements that is, those in its hand included;
    /// `nil` if no more will come in any case.
    func stop() -> Int? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            state.isStopped = true
            return waiting(in: state)
        }
    }

    /// The source puts in what an earlier consumer has left: that doesn't fail, however much it is.
    func takeOver(_ body: () -> @Sendable () -> Void) -> @Sendable () -> Void {
        state.withLock { state in
            if state.takeovers == 0 { state.takeoverBegan = state.first + state.buffer.count }
            state.takeovers += 1
        }
        defer {
            state.withLock { state in
                state.takeovers -= 1
                let (began, end) = (state.takeoverBegan, state.first + state.buffer.count)
                guard state.takeovers == 0, end > began else { return }
                let earlier = state.waitingOfTakenOver(inHand.load(ordering: .relaxed))
                state.takenOver = (earlier + end - began, end)
            }
        }
        return body()
    }

    /// Elements of ``takeRest()`` are of no use to any other consumer.
    func lose(_ count: Int) {
        state.withLock { state in
            state.received += count
            state.dropped += count
        }
    }

    /// The error behind the values in the buffer; `nil` if there is none.
    var failure: (any Error)? {
        let end = state.withLock { $0.end }
        if case .failed(let error)? = end { return error }
        return nil
    }

    /// The error that ends the stream, which tells of what was dropped behind it, too.
    @inline(never)
    func tell(_ error: any Error, of state: inout State) -> any Error {
        state.droppedBehindEnd = 0
        return error
    }

    /// A consumer that leaves a buffer that has failed, before it gets the error, is not told that values are missing:
    /// the next one is.
    private func addDroppedBehindEnd(of state: inout State, to rest: inout Rest) {
        guard state.droppedBehindEnd > 0 else { return }
        var missing = StreamGap(dropped: state.droppedBehindEnd)
        // Of several subscriptions, nobody knows whose they were.
        missing.mayLackValues = true
        rest.gap = rest.gap?.merged(with: missing) ?? missing
        state.droppedBehindEnd = 0
    }

    /// Takes what a consumer that is about to leave has not taken, for a source that keeps it for the next one: here it
    /// counts as never received. Empty for a consumer that only wants no more than what is here.
    func takeRest() -> Rest {
        state.withLock { state in
            var rest = Rest()
            guard state.isLeaving else { return rest }
            (rest.first, rest.told) = (state.first, state.told)
            rest.isUntouched = state.first == 0 && state.told.count == 0 && !state.hasCut
            while !state.buffer.isEmpty {
                mergeGapsAtFront(of: &state)
                guard let element = state.buffer.popFirst() else { break }
                rest.elements.append((element, state.gap.take()))
                state.first += 1
                state.received -= 1
            }
            mergeGapsAtFront(of: &state)
            rest.gap = state.gap.take()
            addDroppedBehindEnd(of: &state, to: &rest)
            return rest
        }
    }
}
