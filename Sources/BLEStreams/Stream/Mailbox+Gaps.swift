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
        if var last = state.laterGaps.last, last.number == number {
            last.gap = last.gap.merged(with: gap)
            state.laterGaps.replaceLast(with: last)
        } else {
            state.laterGaps.append((number, gap))
        }
    }

    /// Takes the gap before the first element; `nil` if the consumer has been told of it by another subscription.
    func takeGap(of state: inout State) -> StreamGap? {
        guard let gap = state.gap.take() else { return nil }
        guard !gap.breaks.isEmpty else { return gap }
        let id = ObjectIdentifier(self)
        var isNew = false
        for linkBreak in gap.breaks where linkBreak.isNew(to: id) { isNew = true }
        return isNew ? gap.ofOneSubscription : gap.withoutBreaks
    }

    /// The place of a gap: the number of the element that follows it, and of the first one that the consumer has not
    /// taken.
    struct GapPlace {
        var number = 0
        var first = 0
        /// Whether the consumer has to be woken.
        var mustWake = false
    }

    /// Adds a gap like ``put(_:)``, and returns its place.
    func append(_ gap: StreamGap) -> GapPlace {
        var place = GapPlace()
        place.mustWake = alter { state in
            addGap(gap, to: &state)
            (place.number, place.first) = (state.first + state.buffer.count, state.first)
        }
        return place
    }

    func mergeGapsAtFront(of state: inout State, with added: StreamGap? = nil) {
        while let next = state.laterGaps.first, next.number <= state.first {
            _ = state.laterGaps.popFirst()
            state.gap = state.gap?.merged(with: next.gap) ?? next.gap
        }
        if let added { state.gap = state.gap?.merged(with: added) ?? added }
    }
}
