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
        if isNew { return gap.ofOneSubscription }
        guard gap.mayTearMessages else { return nil }
        var rest = StreamGap(dropped: gap.dropped)
        rest.mayLackValues = gap.mayLackValues
        return rest
    }

    func mergeGapsAtFront(of state: inout State, with added: StreamGap? = nil) {
        while let next = state.laterGaps.first, next.number <= state.first {
            _ = state.laterGaps.popFirst()
            state.gap = state.gap?.merged(with: next.gap) ?? next.gap
        }
        if let added { state.gap = state.gap?.merged(with: added) ?? added }
    }
}
