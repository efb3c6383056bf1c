/// An element of a stream that shows its gaps; see ``BLEStream/withGaps()``.
public enum Gapped<Value: Sendable>: Sendable {
    /// A value.
    case value(Value)
    /// Values are missing here.
    case gap(StreamGap)
}

extension BLEStream {
    /// The elements, and the gaps between them where values are missing.
    ///
    /// A gap is where ``retry(_:when:)`` started again, where a buffer that keeps the newest or the oldest values
    /// dropped some, where the kernel reports that it dropped some, where a subscription was made anew because the
    /// peripheral's services changed, and where the peripheral may have withheld values because this side did not know
    /// of such a change. All operators pass gaps on, in order; without this operator a consumer never sees them. Values
    /// that the kernel dropped are no gap where nobody can tell whose they were: see ``Link/droppedPDUs``.
    ///
    /// ```swift
    /// for try await item in beats.retry().withGaps() {
    ///     switch item {
    ///     case .value(let beat): plot(beat)
    ///     case .gap(let gap): breakLine(for: gap.duration, because: gap.reason)
    ///     }
    /// }
    /// ```
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes; it is no gap, since nothing follows.
    /// - Cancellation and an early `break` close the upstream at once.
    public func withGaps() -> BLEStream<Gapped<Element>> {
        lift { upstream, _ in
            Cursor(over: upstream) {
                switch try upstream.poll() {
                case .element(let element): .element(.value(element))
                case .gap(let gap) where gap.concernsValues: .element(.gap(gap))
                // Messages behind it take notice.
                case .gap(let gap): .gap(gap)
                case .pending: .pending
                case .end: .end
                }
            }
        }
    }
}
