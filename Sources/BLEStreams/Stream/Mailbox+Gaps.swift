// What a consumer has missed.
extension Mailbox {
    /// Adds a gap after all that is in the buffer. Gaps at one place are merged, so there are no more gaps than
    /// elements.
    func addGap(_ gap: StreamGap, to state: inout State) {
        guard state.end == nil else { return }
        let number = state.first + state.buffer.count
        if var last = state.laterGaps.last, last.number == number {
            last.gap = last.gap.merged(with: gap)
            state.laterGaps.replaceLast(with: last)
        } else {
            state.laterGaps.append((number, gap))
        }
    }

    func mergeGapsAtFront(of state: inout State, with added: StreamGap? = nil) {
        while let next = state.laterGaps.first, next.number <= state.first {
            _ = state.laterGaps.popFirst()
            state.gap = state.gap?.merged(with: next.gap) ?? next.gap
        }
        if let added { state.gap = state.gap?.merged(with: added) ?? added }
    }
}
