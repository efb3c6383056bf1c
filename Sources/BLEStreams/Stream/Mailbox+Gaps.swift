import Synchronization

// What a consumer has missed.
extension Mailbox {
    /// Adds a gap after all that is in the buffer. Gaps at one place are merged, so there are no more gaps than
    /// elements.
    func addGap(_ gap: StreamGap, to state: inout State) {
        guard state.end == nil else {
            state.droppedBehindEnd += gap.dropped
            return
        }
        let number = state.first + state.buffer.count
        state.gapsAdded += 1
        if var last = state.laterGaps.last, last.number == number {
            last.gap = last.gap.merged(with: gap)
            state.laterGaps.replaceLast(with: last)
        } else {
            state.laterGaps.append((number, gap))
        }
    }

    /// Takes the gap before the first element; `nil` if the consumer has been told of it by another subscription.
    ///
    /// - Parameter values: receives the element, if it could be displaced: otherwise a consumer that is slow with each
    ///   gap would be told of gaps alone. It takes no newer one's room.
    func takeGap(of state: inout State, _ values: inout Backlog<Element>) -> StreamGap? {
        guard let gap = state.gap.take() else { return nil }
        state.told = GapPlace(number: state.first, count: state.gapsAdded)
        guard let news = news(of: gap) else { return nil }
        if !keepsWhatItHas, let element = state.buffer.popFirst() {
            state.first += 1
            values.append(element)
            inHand.store(values.count, ordering: .relaxed)
        }
        return news
    }

    /// What of a gap the consumer has not been told by another subscription; `nil` if that is nothing.
    private func news(of gap: StreamGap) -> StreamGap? {
        guard !gap.breaks.isEmpty else { return gap }
        let id = ObjectIdentifier(self)
        var isNew = false
        for linkBreak in gap.breaks where linkBreak.isNew(to: id) { isNew = true }
        return isNew || gap.isOfOneSubscription ? gap.ofOneSubscription : gap.withoutBreaks
    }

    /// The place of a gap: the number of the element that follows it, and how many gaps were added up to it.
    struct GapPlace {
        var number = 0
        var count = 0

        /// Whether a consumer has been told of the gap here, of those that were taken last.
        func isTold(by last: GapPlace) -> Bool {
            number < last.number || number == last.number && count <= last.count
        }
    }

    /// A gap that was added, and what the consumer knows.
    struct Added {
        var place = GapPlace()
        /// The place of the gaps that the consumer has taken last.
        var told = GapPlace()
        /// Whether the consumer has to be woken.
        var mustWake = false
    }

    /// Adds a gap like ``put(_:)``, or like ``put(lost:)`` if its values have not been counted, and returns its place.
    func append(_ gap: StreamGap, counting lost: Int) -> Added {
        var added = Added()
        added.mustWake = alter { state in
            state.received += lost
            state.dropped += lost
            addGap(gap, to: &state)
            added.place = GapPlace(number: state.first + state.buffer.count, count: state.gapsAdded)
            added.told = state.told
        }
        return added
    }

    func mergeGapsAtFront(of state: inout State, with added: StreamGap? = nil) {
        while let next = state.laterGaps.first, next.number <= state.first {
            _ = state.laterGaps.popFirst()
            state.gap = state.gap?.merged(with: next.gap) ?? next.gap
        }
        if let added { state.gap = state.gap?.merged(with: added) ?? added }
    }
}
