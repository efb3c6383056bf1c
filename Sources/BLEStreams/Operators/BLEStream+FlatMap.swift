extension BLEStream {
    /// The elements of the streams made from each element, as they arrive: of one stream after the other, in order, or
    /// from up to `width` streams at once.
    ///
    /// ```swift
    /// let minutes = BLEStream.interval(.seconds(60))
    /// let samples = minutes.flatMap { _ in link.notifications(of: .heartRateMeasurement).prefix(10) }
    /// ```
    ///
    /// While `width` inner streams are open, the upstream isn't polled: its elements wait in its own buffer, whose
    /// policy applies. An inner stream that never ends keeps its place forever. Open inner streams take turns, so none
    /// starves another; the order within each is kept. When one has ended, the next element of the upstream is taken.
    /// ``counters`` of the result are those of the upstream.
    ///
    /// - Parameters:
    ///   - width: the largest number of inner streams open at once; 1 or more.
    ///   - transform: makes the inner stream of an element.
    /// - End: when the upstream and the last inner stream have ended. Once a later operator such as
    ///   ``take(until:)-(BLEStream<Other>)`` stops it, it opens no more.
    /// - Throw: the first error of the upstream, of an inner stream or of `transform`; it ends all streams, and comes
    ///   behind the elements that open inner streams have received. ``BLEError/receivedParts`` has the part of a
    ///   message of each.
    /// - Cancellation and an early `break` close the upstream and all inner streams at once.
    public func flatMap<Output: Sendable>(
        merging width: Int = 1,
        _ transform: @escaping @Sendable (Element) throws -> BLEStream<Output>
    ) -> BLEStream<Output> {
        precondition(width >= 1, "at least one inner stream must be open")
        return lift { upstream, waker in
            let inner = InnerStreams(upstream, width: width) { try transform($0).open(waker) }
            return Cursor(poll: inner.poll, unfinished: inner.unfinished, stop: inner.stop, close: inner.close)
        }
    }
}
