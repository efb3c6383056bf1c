import BLERadio

extension BLEStream {
    /// The elements that arrive within a time; then the stream ends. Listing the devices nearby takes one line:
    ///
    /// ```swift
    /// let nearby = try await central.scan().prefix(for: .seconds(5)).collect()
    /// ```
    ///
    /// ``timeout(_:for:)`` with ``TimeoutScope/wholeStream`` is its counterpart that fails.
    ///
    /// - Parameter duration: how long it takes elements, from the start of the iteration, on the clock of the stream's
    ///   radio. With zero or less, the upstream is opened and closed, and only what it has received by then is
    ///   delivered, such as the present state of a connection; a stream of given elements delivers none.
    /// - End: with the upstream, or when the time is over: the upstream then receives no more, and what it has received
    ///   is still delivered. If the consumer is busy at that moment, its next call of `next()` ends the stream.
    /// - Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func prefix(for duration: Duration) -> BLEStream<Element> {
        take(until: .timer(after: duration, timeline: timeline))
    }
}
