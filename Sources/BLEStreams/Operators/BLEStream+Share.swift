import BLERadio

extension BLEStream {
    /// One iteration of this stream for any number of consumers: started by the first, ended by the last.
    ///
    /// ```swift
    /// let beats = link.notifications(of: .heartRateMeasurement).share()
    /// async let shown: Void = show(beats)
    /// async let recorded: Void = record(beats.throttle(for: .seconds(1)))
    /// ```
    ///
    /// Each consumer has its own buffer, so a slow one doesn't delay the others: its `buffer` policy applies. Operators
    /// before `share` run once for all consumers, in the context of whichever asks first. ``counters`` of the result
    /// are the sum of the consumers' buffers; the upstream has its own.
    ///
    /// - Parameters:
    ///   - replay: how many of the latest elements a later consumer gets immediately, with the gaps between and behind
    ///     them; they are forgotten when the upstream ends.
    ///   - buffer: what happens to elements that arrive faster than one consumer takes them.
    /// - End: with the upstream, for each consumer after the content of its buffer. A later consumer starts it again.
    /// - Throw: an error of the upstream reaches every consumer, after the content of its buffer. If there are several
    ///   consumers, the rest of a message that it interrupts goes to the next stream, even behind ``retry(_:when:)``;
    ///   to drop it, put `retry` before `share`.
    /// - Cancellation and an early `break` of one consumer don't affect the others; those of the last one close the
    ///   upstream at once.
    public func share(replay: Int = 0, buffer: BufferPolicy = .standard) -> BLEStream<Element> {
        precondition(replay >= 0, "a stream can't replay a negative number of elements")
        let (upstream, subject) = (open, subject)
        let tally = Tally()
        let shared = SharedSource<Element>(replay: replay, open: upstream)
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let mailbox = Mailbox<Element>(policy: buffer, waker: waker, subject: subject, tally: tally)
            return shared.join(mailbox, waker)
        }
        return BLEStream(subject, timeline: timeline, counting: StreamCounting(tally), open: open)
    }
}
