import BLERadio

extension BLEStream {
    /// The elements that come within a time; then the stream ends. Listing who is nearby is a line:
    ///
    /// ```swift
    /// let nearby = try await central.scan().prefix(for: .seconds(5)).collect()
    /// ```
    ///
    /// It is the counterpart of ``timeout(_:for:)`` with ``TimeoutScope/wholeStream``, which fails.
    ///
    /// - Parameter duration: how long it takes elements, from the start of the iteration on, on the clock of the stream's
    ///   radio. With zero or less the upstream is opened and closed, and nothing is handed out.
    /// - End: with the upstream, or when the time is over: the upstream then receives no more, and what it has received is
    ///   still handed out. A consumer that is busy at that moment ends it with the next `next()`.
    /// - Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func prefix(for duration: Duration) -> BLEStream<Element> {
        take(until: .timer(after: duration, timeline: timeline))
    }
}
